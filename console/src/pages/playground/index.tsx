// SPDX-License-Identifier: Apache-2.0
// Playground: cells of code and commands in a sandbox, and any call of the API.
import { useEffect, useMemo, useState } from "preact/hooks";
import { postApiSandboxInstancesIdCode } from "../../api/generated";
import { sandboxHref } from "../../objects/sandbox_actions";
import { Button } from "../../parts/button";
import { SelectField } from "../../parts/field";
import { useCommands } from "../../parts/keys";
import { Page, Tabs } from "../../parts/layout";
import { ErrorNote, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Time } from "../../parts/text";
import { href, queryOf, setQuery } from "../../router";
import { templates } from "../../store/lists";
import { sandboxes } from "../../store/sandboxes";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { playground as t } from "../../text/en";
import { ApiMode } from "./api_mode";
import { CellView } from "./cell";
import { Notebook } from "./notebook";
import { LIFETIME_MS } from "./own_sandbox";
import "./playground.css";

const MODES = ["code", "shell", "api"];
const CHOICES_MAX = 300;

export default function PlaygroundPage() {
  const mode = MODES.includes(queryOf("mode")) ? queryOf("mode") : "code";
  const notebook = useMemo(() => new Notebook(), []);
  useEffect(() => {
    sandboxes.ensure();
    templates.ensure();
    const leave = (): void => notebook.leave();
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      notebook.leave();
    };
  }, [notebook]);
  const modeHref = (id: string): string => href("playground", { mode: id === "code" ? undefined : id, sandbox: queryOf("sandbox") || undefined });
  return (
    <Page title={t.title} about={t.about}>
      <Tabs label={t.mode} current={mode} tabs={MODES.map((id) => ({ id, title: t.modes[id] ?? id, href: modeHref(id) }))} />
      {mode === "api" ? <ApiMode /> : <Cells notebook={notebook} isShell={mode === "shell"} />}
    </Page>
  );
}

function Cells({ notebook, isShell }: { notebook: Notebook; isShell: boolean }) {
  const chosen = queryOf("sandbox");
  notebook.sandbox = chosen;
  const [focused, setFocused] = useState(0);
  const [language, setLanguage] = useState("python");
  const lacks = missingScope(postApiSandboxInstancesIdCode);
  const row = chosen ? sandboxes.get(chosen) : undefined;
  const isStopped = row !== undefined && row.state !== "started" && row.state !== "paused";
  const because = lacks ? t.lacks(lacks) : isStopped ? t.notRunning : null;
  const cells = notebook.cells.value.filter((c) => (c.language === "shell") === isShell);
  const add = (): void => setFocused(notebook.add(isShell ? "shell" : language, cells.at(-1)?.id));
  const relabel = (id: number, next: string): void => {
    setLanguage(next);
    notebook.cells.value = notebook.cells.peek().map((c) => (c.id === id ? { ...c, language: next } : c));
  };
  useEffect(() => {
    if (cells.length === 0) add();
  }, [isShell]);
  const restart = async (): Promise<void> => {
    if (await notebook.restart(language)) showToast({ kind: "done", text: t.restarted(t.languages[language] ?? language) });
  };
  useCommands([{ id: "playground.add", title: t.addCell, keys: "c", section: t.title, icon: "plus", run: add }]);
  return (
    <>
      <SandboxBar notebook={notebook} chosen={chosen} />
      {because && <Note tone="warn">{because}</Note>}
      {notebook.error.value && <ErrorNote error={notebook.error.value} onClose={() => (notebook.error.value = null)} />}
      <div class="cells">
        {cells.map((cell, i) => (
          <CellView
            key={cell.id}
            notebook={notebook}
            cell={cell}
            number={i + 1}
            sandbox={chosen || notebook.own.made.value?.id || ""}
            disabledBecause={because}
            hasFocus={cell.id === focused && cells.length > 1}
            onLanguage={(next) => relabel(cell.id, next)}
          />
        ))}
        <div class="row">
          <Button icon="plus" onClick={add}>
            {t.addCell}
          </Button>
          {!isShell && (
            <Button icon="reload" tip={t.restartTip} onClick={() => void restart()}>
              {t.restart}
            </Button>
          )}
          <Button kind="quiet" onClick={() => notebook.clear()}>
            {t.clear}
          </Button>
          <span class="meta">{isShell ? t.shellHint : t.hint}</span>
        </div>
      </div>
    </>
  );
}

function SandboxBar({ notebook, chosen }: { notebook: Notebook; chosen: string }) {
  const [template, setTemplate] = useState("");
  const own = notebook.own.made.value;
  const running = sandboxes.items.filter((s) => (s.state === "started" || s.state === "paused" || s.id === chosen) && s.id !== own?.id).slice(0, CHOICES_MAX);
  const choose = (id: string): void => setQuery({ sandbox: id || undefined }, false);
  const chooseTemplate = (name: string): void => {
    setTemplate(name);
    notebook.own.template = name;
  };
  return (
    <div class="play-bar">
      <SelectField label={t.sandbox} value={chosen} onChange={choose} choices={[{ value: "", label: t.newSandbox }, ...running.map((s) => ({ value: s.id, label: `${showHidden(s.name || s.id, 60)} · ${s.state}` }))]} />
      {!chosen && !own && (
        <SelectField label={t.template} value={template} onChange={chooseTemplate} choices={[{ value: "", label: t.defaultTemplate }, ...templates.items.map((one) => ({ value: one.name, label: showHidden(one.name, 60) }))]} />
      )}
      {!chosen && !own && <p class="meta">{notebook.own.isMaking.value ? t.making : t.lifetime(LIFETIME_MS / 60_000)}</p>}
      {!chosen && own && (
        <p class="row meta">
          <a href={sandboxHref(own.id)}>{t.made}</a>
          <span>
            {t.ends} <Time at={own.endsAt} />
          </span>
          <Button isSmall kind="quiet" icon="trash" onClick={() => notebook.own.remove()}>
            {t.endNow}
          </Button>
        </p>
      )}
    </div>
  );
}
