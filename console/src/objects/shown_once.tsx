// SPDX-License-Identifier: Apache-2.0
// shown_once.tsx: a secret that the server shows once. The dialog closes by its button only.
import type { ComponentChildren } from "preact";
import { Button } from "../parts/button";
import { CopyLine } from "../parts/copy";
import { Dialog } from "../parts/dialog";
import { Note } from "../parts/notice";
import { manage as t } from "../text/en";

export interface ShownOnceProps {
  title: string;
  secret: string;
  children?: ComponentChildren;
  onDone: () => void;
}

export function ShownOnce({ title, secret, children, onDone }: ShownOnceProps) {
  const foot = (
    <>
      <span class="grow" />
      <Button kind="primary" onClick={onDone}>
        {t.onceDone}
      </Button>
    </>
  );
  return (
    <Dialog title={title} kind="wide" onClose={onDone} footer={foot}>
      <div class="stack">
        <Note tone="warn">
          <p class="note-title">{t.onceTitle}</p>
          <p>{t.onceText}</p>
        </Note>
        <CopyLine text={secret} />
        {children}
      </div>
    </Dialog>
  );
}
