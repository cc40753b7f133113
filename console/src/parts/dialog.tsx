// SPDX-License-Identifier: Apache-2.0
// dialog.tsx: dialogs, side sheets and questions, on the browser's own <dialog>: focus goes in and comes back by itself.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { common as t } from "../text/en";
import { Button } from "./button";

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  footer?: ComponentChildren;
  kind?: "normal" | "wide" | "sheet" | "narrow";
  /** Submits by the button of type submit in the footer, and by Ctrl-Enter. */
  onSubmit?: () => void;
}

export function Dialog(props: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    if (!dialog?.open) dialog?.showModal();
    // Into the content, not onto the button that closes.
    const inside = ".dialog-body :is(input, select, textarea, button, a[href]):not([disabled]), .dialog-foot button";
    (dialog?.querySelector<HTMLElement>("[autofocus]") ?? dialog?.querySelector<HTMLElement>(inside))?.focus();
    return () => {
      if (opener?.isConnected) opener.focus();
    };
  }, []);
  const body = (
    <>
      <header class="dialog-head">
        <h2 id={titleId}>{props.title}</h2>
        <Button kind="quiet" icon="close" label={t.close} onClick={props.onClose} />
      </header>
      <div class="dialog-body">{props.children}</div>
      {props.footer && <footer class="dialog-foot">{props.footer}</footer>}
    </>
  );
  return (
    <dialog
      ref={ref}
      class={`dialog ${props.kind ?? "normal"}`}
      aria-labelledby={titleId}
      onCancel={(e) => {
        e.preventDefault();
        props.onClose();
      }}
      onClick={(e) => e.target === ref.current && props.kind === "sheet" && props.onClose()}
      onKeyDown={(e) => {
        if (props.onSubmit && e.key === "Enter" && (e.ctrlKey || e.metaKey)) props.onSubmit();
      }}
    >
      {props.onSubmit ? (
        <form
          class="dialog-form"
          noValidate
          onSubmit={(e) => {
            e.preventDefault();
            props.onSubmit?.();
          }}
        >
          {body}
        </form>
      ) : (
        body
      )}
    </dialog>
  );
}

export interface Question {
  title: string;
  text: ComponentChildren;
  /** The word of the button: "Delete". */
  yes: string;
  isDangerous?: boolean;
  /** A name to type first: for what concerns a project or very many objects. */
  typed?: string;
  /** A second way out, such as "Snapshot first". */
  other?: { label: string; run: () => void };
}

const asked = signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

/** Asks once; resolves with whether the user said yes. */
export function ask(question: Question): Promise<boolean> {
  asked.peek()?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = null;
        resolve(yes);
      },
    };
  });
}

/** Mounted once by the shell. */
export function QuestionDialog() {
  const q = asked.value;
  return q ? <QuestionForm key={q.title} q={q} /> : null;
}

function QuestionForm({ q }: { q: NonNullable<typeof asked.value> }) {
  const [typed, setTyped] = useState("");
  const isOpen = q.typed === undefined || typed === q.typed;
  return (
    <Dialog
      title={q.title}
      kind="narrow"
      onClose={() => q.answer(false)}
      onSubmit={() => isOpen && q.answer(true)}
      footer={
        <>
          {q.other && (
            <Button
              onClick={() => {
                q.other?.run();
                q.answer(false);
              }}
            >
              {q.other.label}
            </Button>
          )}
          <span class="grow" />
          <Button onClick={() => q.answer(false)}>{t.cancel}</Button>
          <Button type="submit" kind={q.isDangerous ? "danger" : "primary"} isDisabled={!isOpen}>
            {q.yes}
          </Button>
        </>
      }
    >
      <div class="question">{q.text}</div>
      {q.typed !== undefined && (
        <label class="field">
          <span class="field-label">{t.typeToConfirm(q.typed)}</span>
          <input class="input" value={typed} autocomplete="off" onInput={(e) => setTyped(e.currentTarget.value)} />
        </label>
      )}
    </Dialog>
  );
}
