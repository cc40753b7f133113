// SPDX-License-Identifier: Apache-2.0
// create_progress.tsx: how far a new sandbox is: recorded, template prepared, started. It can be left at any time.
import { useEffect, useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icons";
import { Note } from "../parts/notice";
import { showHidden } from "../parts/safe";
import { go } from "../router";
import { readSandbox, sandboxes } from "../store/sandboxes";
import { createSandbox as t } from "../text/en";
import { sandboxHref } from "./sandbox_actions";

const SLOW_MS = 5000;

export function CreateProgress({ id, onClose, onAnother }: { id: string; onClose: () => void; onAnother: () => void }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    void readSandbox(id).catch(() => undefined);
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [id]);
  const s = sandboxes.get(id);
  const state = s?.state ?? "deleted";
  const isUp = state === "started" || state === "paused";
  const isWrong = state === "failed" || state === "deleted";
  const steps: readonly [string, boolean][] = [
    [t.recorded, true],
    [t.preparing(showHidden(s?.template ?? "", 60)), isUp || state === "creating"],
    [isWrong ? t.failed : t.started, isUp],
  ];
  const current = steps.findIndex(([, isDone]) => !isDone);
  return (
    <Dialog
      title={showHidden(s?.name ?? t.title, 60)}
      kind="narrow"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onAnother}>
            {t.another}
          </Button>
          <span class="grow" />
          {!isUp && !isWrong && <Button onClick={onClose}>{t.background}</Button>}
          <Button kind="primary" onClick={() => go(sandboxHref(id))}>
            {t.open}
          </Button>
        </>
      }
    >
      <ol class="steps" aria-live="polite">
        {steps.map(([text, isDone], i) => (
          <li key={text} class={isDone ? "done" : isWrong && i === current ? "wrong" : ""}>
            {isDone ? <Icon name="check" /> : isWrong && i === current ? <Icon name="close" /> : i === current ? <span class="spinner" aria-hidden="true" /> : <span class="step-wait" />}
            {text}
          </li>
        ))}
      </ol>
      {isWrong && s?.last_event?.text && <Note tone="bad">{showHidden(s.last_event.text, 500)}</Note>}
      {!isUp && !isWrong && isSlow && <p class="muted">{t.slow}</p>}
    </Dialog>
  );
}
