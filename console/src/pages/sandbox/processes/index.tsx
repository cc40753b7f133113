// SPDX-License-Identifier: Apache-2.0
// What runs in a sandbox and what has run: services, background jobs, commands; each opens with its output.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdProcesses, type Process } from "../../../api/generated";
import { WakeGate } from "../../../objects/wake_gate";
import { sandboxHref } from "../../../objects/sandbox_actions";
import { Button } from "../../../parts/button";
import { Segmented } from "../../../parts/field";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Card } from "../../../parts/layout";
import { Empty, ErrorNote, Loaded } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Table, type Column } from "../../../parts/table";
import { Safe, Time } from "../../../parts/text";
import { useItems } from "../../../parts/view";
import { go, queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import { canTake, type Sandbox } from "../../../store/sandboxes";
import { sandboxProcesses as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { commandOf, EndChip, lineOf, signalMenu, windowOf } from "./command";
import { Jobs, Services } from "./groups";
import { ProcessSheet } from "./process_sheet";
import "./processes.css";

export default function ProcessesTab({ sandbox }: TabProps) {
  if (!canTake(sandbox, "exec")) return <Empty icon="cpu" title={t.notRunning}>{t.notRunningText}</Empty>;
  return (
    <WakeGate sandbox={sandbox} title={t.pausedTitle} text={t.pausedText} yes={t.wake} icon="cpu">
      {() => <Everything sandbox={sandbox} />}
    </WakeGate>
  );
}

const openProcess = (process: number): void => setQuery({ process: String(process) }, false);

function Everything({ sandbox }: { sandbox: Sandbox }) {
  const [error, setError] = useState<ApiError | null>(null);
  const processes = useResource(`processes ${sandbox.id}`, (signal) => call(getApiSandboxInstancesIdProcesses, { path: { id: sandbox.id }, signal }), { kinds: ["job.*", "service.*", "window.*", "process.*", "command.*"], sandbox: sandbox.id, onFocus: true });
  const act = (work: Promise<unknown>): void => {
    setError(null);
    work.then(() => setTimeout(processes.reload, 150), (thrown: unknown) => setError(asApiError(thrown)));
  };
  const opened = processes.data.value?.items.find((p) => String(p.process) === queryOf("process"));
  return (
    <>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <Services sandbox={sandbox} onOpen={openProcess} onError={setError} />
      <Jobs sandbox={sandbox} onOpen={openProcess} onError={setError} />
      <Loaded of={processes} lines={6}>
        {(list) => <Commands sandbox={sandbox} items={list.items} onReload={processes.reload} onAct={act} />}
      </Loaded>
      {opened && <ProcessSheet key={opened.process} sandbox={sandbox} process={opened} onAct={act} onEnded={processes.reload} onClose={() => setQuery({ process: undefined }, false)} />}
    </>
  );
}

const COLUMNS: readonly Column<Process>[] = [
  { id: "command", title: t.command, width: 260, grow: 1, isFixed: true, phone: "title", sort: commandOf, cell: (p) => <span class="cut mono"><Safe text={lineOf(p)} max={300} /></span> },
  { id: "state", title: t.state, width: 150, phone: "side", sort: (p) => p.state, cell: (p) => <EndChip process={p} /> },
  { id: "user", title: t.user, width: 90, sort: (p) => p.user, cell: (p) => <Safe text={p.user} max={20} /> },
  { id: "started", title: t.started, width: 120, phone: "meta", sort: (p) => p.started_at, cell: (p) => <Time at={p.started_at} /> },
  { id: "duration", title: t.duration, width: 100, align: "end", phone: "meta", sort: (p) => p.duration_ms, cell: (p) => formatDuration(p.duration_ms) },
  { id: "output", title: t.output, width: 90, align: "end", sort: (p) => p.stdout_bytes + p.stderr_bytes, cell: (p) => formatBytes(p.stdout_bytes + p.stderr_bytes) },
  { id: "pid", title: t.pid, width: 70, align: "end", isOff: true, sort: (p) => p.pid, cell: (p) => p.pid },
  { id: "folder", title: t.folder, width: 160, isOff: true, sort: (p) => p.cwd, cell: (p) => <span class="cut mono"><Safe text={p.cwd} /></span> },
];

interface CommandsProps {
  sandbox: Sandbox;
  items: readonly Process[];
  onReload: () => void;
  onAct: (work: Promise<unknown>) => void;
}

function Commands({ sandbox, items, onReload, onAct }: CommandsProps) {
  const source = useItems(items, (p) => String(p.process));
  const shown = queryOf("state");
  const running = items.filter((p) => p.state === "running").length;
  const open = (p: Process): void => {
    const window = windowOf(p);
    if (window && p.state === "running") go(`${sandboxHref(sandbox.id, "terminal")}?w=${encodeURIComponent(window)}`);
    else openProcess(p.process);
  };
  return (
    <Card isFlush class="commands" title={t.commands} actions={
      <>
        <span class="muted">{t.running(running)}</span>
        <Segmented label={t.show} value={shown} onChange={(state) => setQuery({ state }, false)} choices={[{ value: "", label: t.all }, { value: "running", label: t.onlyRunning }, { value: "ended", label: t.onlyEnded }]} />
        <Button kind="quiet" icon="reload" label={t.reload} onClick={onReload} />
      </>
    }>
      <Table name="processes" label={t.commands} source={source} columns={COLUMNS} nameOf={(p) => showHidden(lineOf(p), 60)} filter={shown ? (p) => p.state === shown : undefined} filterKey={shown}
        sort={queryOf("sort") || "-started"} onSort={(sort) => setQuery({ sort })} onOpen={open} menuOf={(p) => signalMenu(sandbox, p, onAct)} rowsMax={16}
        empty={<Empty icon="cpu" title={items.length ? t.noMatch : t.none} command={items.length ? undefined : `atoll exec ${sandbox.name} -- uname -a`}>{items.length ? null : t.noneText}</Empty>} />
    </Card>
  );
}
