// SPDX-License-Identifier: Apache-2.0
// cell.tsx: one cell: editor, its buttons, its output.
import { Button } from "../../parts/button";
import { copyText } from "../../parts/copy";
import { Segmented } from "../../parts/field";
import { Lazy } from "../../parts/lazy";
import { MenuButton } from "../../parts/menu";
import { showToast } from "../../store/toasts";
import { playground as t } from "../../text/en";
import type { Cell, Notebook } from "./notebook";
import { Output } from "./output";
import { snippetOf, type Form } from "./snippets";

const loadEditor = () => import("../../lazy/editor");
const FORMS: readonly Form[] = ["curl", "python", "typescript"];

export interface CellProps {
  notebook: Notebook;
  cell: Cell;
  number: number;
  /** Of the sandbox in which it runs; "" before there is one. */
  sandbox: string;
  disabledBecause: string | null;
  hasFocus: boolean;
  onLanguage: (language: string) => void;
}

export function CellView({ notebook, cell, number, sandbox, disabledBecause, hasFocus, onLanguage }: CellProps) {
  const isShell = cell.language === "shell";
  const language = isShell ? (t.modes["shell"] ?? "") : (t.languages[cell.language] ?? cell.language);
  const name = t.cell(number, language);
  const run = cell.run.value;
  const isRunning = run?.state.value.isRunning ?? false;
  const start = (): void => void (disabledBecause === null && notebook.run(cell));
  const copyAs = async (form: Form): Promise<void> => {
    const text = snippetOf(form, { sandbox: sandbox || "SANDBOX", language: cell.language, text: cell.text }, location.origin);
    if (await copyText(text)) showToast({ kind: "done", text: t.copied(t.forms[form] ?? form) });
  };
  return (
    <section class="cell" aria-label={name}>
      <header class="cell-head">
        <span class="meta mono">[{run?.state.value.count ?? " "}]</span>
        {isShell ? <span class="meta">{language}</span> : <Segmented label={t.language} value={cell.language} onChange={onLanguage} choices={Object.entries(t.languages).map(([value, label]) => ({ value, label }))} />}
        <span class="grow" />
        {isRunning ? (
          <Button isSmall icon="stop" onClick={() => void notebook.interrupt(cell)}>
            {t.interrupt}
          </Button>
        ) : (
          <Button isSmall kind="primary" icon="play" disabledBecause={disabledBecause} isBusy={notebook.own.isMaking.value && !sandbox} onClick={start}>
            {t.run}
          </Button>
        )}
        <MenuButton label={t.copyAs} button={{ icon: "copy", isSmall: true, kind: "quiet" }} items={() => FORMS.map((form) => ({ label: t.forms[form] ?? form, icon: "copy", run: () => void copyAs(form) }))} />
        <Button isSmall kind="quiet" icon="trash" label={t.removeCell} onClick={() => notebook.remove(cell)} />
      </header>
      <Lazy
        load={loadEditor}
        lines={3}
        props={{
          label: name,
          text: cell.text,
          docKey: String(cell.id),
          language: isShell ? "bash" : cell.language,
          isFit: true,
          placeholder: t.placeholder[cell.language],
          onChange: (text: string) => (cell.text = text),
          onRun: start,
          hasFocus,
        }}
      />
      {run && <Output run={run} name={name} />}
    </section>
  );
}
