// SPDX-License-Identifier: Apache-2.0
// The search field of a terminal: Enter goes on, Shift-Enter goes back, Escape closes.
import { useState } from "preact/hooks";
import type { TerminalHandle } from "../../../lazy/terminal";
import { Button } from "../../../parts/button";
import { TextField } from "../../../parts/field";
import { common as shared, sandboxTerminal as t } from "../../../text/en";

export function FindBar({ handle, onClose }: { handle: TerminalHandle; onClose: () => void }) {
  const [text, setText] = useState("");
  const [isFound, setFound] = useState(true);
  const find = (isBack: boolean): void => setFound(text === "" || handle.find(text, isBack));
  const onKey = (e: KeyboardEvent): void => {
    if (e.key === "Enter") find(e.shiftKey);
    else if (e.key === "Escape") onClose();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="find-bar" onKeyDown={onKey}>
      <TextField label={t.findLabel} isLabelHidden type="search" value={text} hasFocus placeholder={t.findLabel} onChange={setText} />
      <Button isSmall kind="quiet" icon="up" label={t.findBack} onClick={() => find(true)} />
      <Button isSmall kind="quiet" icon="down" label={t.findNext} onClick={() => find(false)} />
      <span class="muted" role="status">{isFound ? "" : t.notFound}</span>
      <Button isSmall kind="quiet" icon="close" label={shared.close} onClick={onClose} />
    </div>
  );
}
