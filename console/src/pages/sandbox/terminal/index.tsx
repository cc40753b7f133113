// SPDX-License-Identifier: Apache-2.0
// The terminals of a sandbox: its windows as tabs, and the recordings of those that are closed.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdWindows, postApiSandboxInstancesIdTerminal, type Window } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { Icon } from "../../../parts/icons";
import { useCommands } from "../../../parts/keys";
import { Empty, ErrorNote, Loaded } from "../../../parts/notice";
import { MenuButton, type MenuItem } from "../../../parts/menu";
import { showHidden } from "../../../parts/safe";
import { Safe } from "../../../parts/text";
import { runAction } from "../../../objects/sandbox_actions";
import { WakeGate } from "../../../objects/wake_gate";
import { place, queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import { canTake, type Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { common as shared, sandbox as frame, sandboxTerminal as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { Recordings } from "./recordings";
import { WindowView } from "./window_view";
import "./terminal.css";

/** Windows that the menu offers for the other half. */
const BESIDE_MAX = 8;

export default function TerminalTab({ sandbox }: TabProps) {
  if (queryOf("view") === "recordings") return <Recordings sandbox={sandbox} />;
  if (!canTake(sandbox, "exec")) return <NotRunning sandbox={sandbox} />;
  return (
    <WakeGate sandbox={sandbox} title={t.pausedTitle} text={t.pausedText} yes={t.wake} icon="terminal">
      {() => <Windows sandbox={sandbox} />}
    </WakeGate>
  );
}

const toRecordings = (): void => setQuery({ view: "recordings", recording: undefined }, false);

function NotRunning({ sandbox }: { sandbox: Sandbox }) {
  const start = canTake(sandbox, "start") && (
    <Button kind="primary" icon="play" onClick={() => void runAction(sandbox, "start")}>
      {frame.actions.start}
    </Button>
  );
  return (
    <Empty icon="terminal" title={t.notRunning} action={<>{start}<Button icon="clock" onClick={toRecordings}>{t.recordings}</Button></>}>
      {t.notRunningText}
    </Empty>
  );
}

function Windows({ sandbox }: { sandbox: Sandbox }) {
  const windows = useResource(`windows ${sandbox.id}`, (signal) => call(getApiSandboxInstancesIdWindows, { path: { id: sandbox.id }, signal }), { kinds: ["window.*"], sandbox: sandbox.id, onFocus: true });
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const open = async ({ record = false, isBeside = false }: OpenOptions = {}): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const current = queryOf("w") || windows.data.value?.items[0]?.name;
      const opened = await call(postApiSandboxInstancesIdTerminal, { path: { id: sandbox.id }, body: { record } });
      const list = await call(getApiSandboxInstancesIdWindows, { path: { id: sandbox.id } });
      windows.data.value = list;
      const name = opened.name ?? undefined;
      setQuery(isBeside && current ? { w: current, beside: name } : { w: name }, false);
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  useCommands([
    { id: "terminal.new", title: t.openNew, keys: "c", icon: "plus", section: t.title, run: () => void open() },
    { id: "terminal.split", title: t.split, icon: "columns", section: t.title, run: () => void open({ isBeside: true }) },
    { id: "terminal.recordings", title: t.recordings, icon: "clock", section: t.title, run: toRecordings },
  ]);
  return (
    <Loaded of={windows}>
      {(list) => (
        <div class="terminal-tab">
          {error && <ErrorNote error={error} onClose={() => setError(null)} />}
          <WindowsBody sandbox={sandbox} windows={list.items} isBusy={isBusy} onOpen={(options) => void open(options)} onReload={windows.reload} />
        </div>
      )}
    </Loaded>
  );
}

interface OpenOptions {
  record?: boolean;
  /** Beside the current window instead of in its place. */
  isBeside?: boolean;
}

interface BodyProps {
  sandbox: Sandbox;
  windows: readonly Window[];
  isBusy: boolean;
  onOpen: (options?: OpenOptions) => void;
  onReload: () => void;
}

function WindowsBody({ sandbox, windows, isBusy, onOpen, onReload }: BodyProps) {
  const scope = missingScope(postApiSandboxInstancesIdTerminal);
  const forbidden = scope && shared.missingScope(scope);
  if (windows.length === 0) {
    return (
      <Empty icon="terminal" title={t.none} command={`atoll terminal open ${sandbox.name}`} action={
        <>
          <Button kind="primary" icon="terminal" isBusy={isBusy} disabledBecause={forbidden} onClick={() => onOpen()}>{t.open}</Button>
          <Button icon="clock" onClick={toRecordings}>{t.recordings}</Button>
        </>
      }>
        {t.noneText}
      </Empty>
    );
  }
  const wanted = queryOf("w");
  const current = windows.find((w) => w.name === wanted) ?? windows[0];
  const beside = windows.find((w) => w.name === queryOf("beside") && w !== current);
  const splitItems = (): MenuItem[] =>
    beside
      ? [{ label: t.unsplit, icon: "columns", run: () => setQuery({ beside: undefined }, false), isApart: true }]
      : [
          { label: t.split, icon: "columns", run: () => onOpen({ isBeside: true }), disabledBecause: forbidden, isApart: true },
          ...windows.filter((w) => w !== current).slice(0, BESIDE_MAX).map((w): MenuItem => ({ label: t.beside(showHidden(w.name, 30)), run: () => setQuery({ beside: w.name }, false) })),
        ];
  return (
    <>
      <div class="window-bar">
        <nav class="window-tabs" aria-label={t.windows}>
          {windows.map((w) => (
            <a key={w.process} href={windowAddress(w.name, current?.name, beside?.name)} class={`window-tab${w === beside ? " is-beside" : ""}`} aria-current={w === current ? "page" : undefined}>
              <Icon name="terminal" size={14} />
              <Safe text={w.name} max={30} />
              {w.busy && <span class="window-busy"><span class="off-screen">{t.busy}</span></span>}
            </a>
          ))}
        </nav>
        <Button kind="quiet" icon="plus" label={t.openNew} isBusy={isBusy} disabledBecause={forbidden} onClick={() => onOpen()} />
        <MenuButton label={t.windows} items={() => [
          { label: t.openNew, icon: "plus", keys: "c", run: () => onOpen(), disabledBecause: forbidden },
          { label: t.openRecorded, icon: "camera", run: () => onOpen({ record: true }), disabledBecause: forbidden },
          ...splitItems(),
          { label: t.recordings, icon: "clock", run: toRecordings, isApart: true },
        ]} />
      </div>
      <div class="windows">
        {[current, beside].map((w) => w && <WindowView key={`${w.process}`} sandbox={sandbox} window={w} hasFocus={w === current} forbidden={forbidden} onGone={onReload} />)}
      </div>
    </>
  );
}

/** The window beside it changes places with the current one. */
function windowAddress(name: string, current: string | undefined, beside: string | undefined): string {
  const query = new URLSearchParams(place.value.query);
  query.set("w", name);
  if (name === beside && current !== undefined) query.set("beside", current);
  return `${place.value.path}?${query.toString()}`;
}
