// SPDX-License-Identifier: Apache-2.0
// What a sandbox used over time, and uses now.
import { useMemo } from "preact/hooks";
import { call } from "../../../api/call";
import { getApiSandboxInstancesIdStatsHistory, type SandboxFigures, type StatsHistory } from "../../../api/generated";
import { serverNow } from "../../../api/call";
import { readEvents } from "../../../objects/sandbox_events";
import { Button } from "../../../parts/button";
import { Chart, type Series } from "../../../parts/chart";
import { Segmented } from "../../../parts/field";
import { formatBytes, formatCores, formatCount, NOT_KNOWN, parseTime } from "../../../parts/format";
import { Tile } from "../../../parts/layout";
import { Empty, Loaded, Note } from "../../../parts/notice";
import { queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { sandboxMetrics as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { useLiveFigures } from "./live";
import { marksOf, rowsOf } from "./samples";
import "./metrics.css";

const MINUTE = 60_000;
const RANGES: Readonly<Record<string, number>> = { "15m": 15 * MINUTE, "": 60 * MINUTE, "6h": 360 * MINUTE, "24h": 1440 * MINUTE, "7d": 10_080 * MINUTE, all: 0 };
const MIB = 1024 * 1024;
/** An end that is in the address has passed; live samples belong to no chosen range. */
const isChosen = (): boolean => queryOf("from") !== "" && queryOf("until") !== "";

interface Limits {
  cpu: number | null;
  memory: number | null;
  disk: number | null;
}

function limitsOf(sandbox: Sandbox, history?: StatsHistory): Limits {
  const given = (sandbox.resources ?? {}) as { cpu?: number; memory_mb?: number; disk_mb?: number };
  const positive = (n: number | undefined): number | null => (n !== undefined && n > 0 ? n : null);
  return {
    cpu: positive(given.cpu),
    memory: positive(history?.memory_limit_bytes) ?? (given.memory_mb ? given.memory_mb * MIB : null),
    disk: positive(history?.disk_limit_bytes) ?? (given.disk_mb ? given.disk_mb * MIB : null),
  };
}

export default function MetricsTab({ sandbox }: TabProps) {
  const range = queryOf("range") in RANGES ? queryOf("range") : "";
  const isRunning = sandbox.state === "started";
  const [from, until] = [queryOf("from"), queryOf("until")];
  const history = useResource(`history ${sandbox.id} ${range} ${from} ${until}`, (signal) => {
    const length = RANGES[range] ?? 0;
    const start = isChosen() ? from : length ? new Date(serverNow() - length).toISOString() : undefined;
    return call(getApiSandboxInstancesIdStatsHistory, { path: { id: sandbox.id }, query: { from: start, until: isChosen() ? until : undefined }, signal });
  }, { kinds: ["sandbox.*"], sandbox: sandbox.id, onFocus: true });
  const events = useResource(`events ${sandbox.id}`, (signal) => readEvents(sandbox.id, signal), { kinds: ["sandbox.*"], sandbox: sandbox.id });
  const live = useLiveFigures(sandbox.id, isRunning);
  return (
    <div class="stack wide">
      <Now figures={isRunning ? live.at(-1) : undefined} limits={limitsOf(sandbox, history.data.value)} isRunning={isRunning} />
      <div class="row">
        <Segmented label={t.range} value={isChosen() ? "chosen" : range} onChange={(next) => setQuery({ range: next, from: undefined, until: undefined }, false)}
          choices={[...["15m", "", "6h", "24h", "7d", "all"].map((value) => ({ value, label: t.ranges[value] ?? value })), ...(isChosen() ? [{ value: "chosen", label: t.chosen }] : [])]} />
        {isChosen() ? <Button kind="quiet" icon="close" onClick={() => setQuery({ from: undefined, until: undefined }, false)}>{t.wholeRange}</Button> : <span class="muted">{t.hint}</span>}
      </div>
      <Loaded of={history} lines={8}>
        {(data) => <Charts history={data} live={isChosen() ? [] : live} limits={limitsOf(sandbox, data)} events={events.data.value ?? []} />}
      </Loaded>
    </div>
  );
}

function Now({ figures, limits, isRunning }: { figures: SandboxFigures | undefined; limits: Limits; isRunning: boolean }) {
  if (!isRunning) return <Note>{t.notRunning}</Note>;
  const value = (n: number | undefined, format: (n: number) => string): string => (n === undefined ? NOT_KNOWN : n < 0 ? NOT_KNOWN : format(n));
  const of = (limit: number | null, format: (n: number) => string): string => (limit === null ? "" : t.of(format(limit)));
  const isTight = figures !== undefined && limits.memory !== null && figures.memory_bytes > 0.9 * limits.memory;
  return (
    <>
      <div class="tiles">
        <Tile label={t.now.cpu} value={value(figures?.cpu_percent, (n) => formatCores(n / 100))} note={of(limits.cpu, formatCores)} />
        <Tile label={t.now.memory} value={value(figures?.memory_bytes, formatBytes)} note={of(limits.memory, formatBytes)} tone={isTight ? "warn" : undefined} />
        <Tile label={t.now.disk} value={value(figures?.disk_bytes, formatBytes)} note={figures && figures.disk_bytes < 0 ? t.notMeasured : of(limits.disk, formatBytes)} />
        <Tile label={t.now.processes} value={value(figures?.pids, formatCount)} note={of(figures && figures.pids_limit > 0 ? figures.pids_limit : null, formatCount)} />
      </div>
      {figures && figures.oom_kills > 0 && <Note tone="warn">{t.memoryKills(figures.oom_kills)}</Note>}
    </>
  );
}

interface ChartsProps {
  history: StatsHistory;
  live: readonly SandboxFigures[];
  limits: Limits;
  events: Parameters<typeof marksOf>[0];
}

function Charts({ history, live, limits, events }: ChartsProps) {
  const rows = useMemo(() => {
    const last = parseTime(history.items.at(-1)?.at) ?? 0;
    const newer = live.filter((f) => (parseTime(f.sampled_at) ?? 0) > last).map((f) => ({ ...f, at: f.sampled_at }));
    return rowsOf([...history.items, ...newer]);
  }, [history, live]);
  const { times } = rows;
  const first = times[0];
  const marks = useMemo(() => (first === undefined ? [] : marksOf(events, first, times.at(-1) ?? first)), [events, times]);
  if (first === undefined) return <Empty icon="chart" title={t.none}>{t.noneText}</Empty>;
  const withLimit = (values: (number | null)[], limit: number | null): Series[] => [{ label: t.used, values }, ...(limit === null ? [] : [{ label: t.limit, values: times.map(() => limit), isLimit: true }])];
  const onZoom = (a: number, b: number): void => setQuery({ from: new Date(a).toISOString(), until: new Date(b).toISOString() }, false);
  const shared = { times, marks, group: "sandbox-metrics", onZoom, height: 180 };
  const isDiskKnown = rows.disk.some((v) => v !== null);
  return (
    <div class="charts">
      <Chart {...shared} title={t.cpu} series={withLimit(rows.cpu, limits.cpu)} format={formatCores} />
      <Chart {...shared} title={t.memory} series={withLimit(rows.memory, limits.memory)} format={formatBytes} />
      {isDiskKnown
        ? <Chart {...shared} title={t.disk} series={withLimit(rows.disk, limits.disk)} format={formatBytes} />
        : <figure class="chart"><figcaption class="chart-head"><span class="chart-title">{t.disk}</span><span class="muted">{t.notMeasured}</span></figcaption><p class="muted chart-none">{t.notMeasuredText}</p></figure>}
      <Chart {...shared} title={t.network} series={[{ label: t.received, values: rows.received }, { label: t.sent, values: rows.sent }]} format={formatBytes} />
    </div>
  );
}
