// SPDX-License-Identifier: Apache-2.0
// sandbox_columns.tsx: the columns of sandboxes, the same in the table and on the overview.
import type { Column } from "../parts/table";
import { Chip, LabelChips, StateChip } from "../parts/chip";
import { formatCores, formatDuration, formatMib, parseTime } from "../parts/format";
import { showHidden } from "../parts/safe";
import { Id, Safe, Time } from "../parts/text";
import { everySecond } from "../store/clock";
import { pendingOf } from "../store/pending";
import type { Sandbox } from "../store/sandboxes";
import { sandbox as words, sandboxes as t } from "../text/en";
import { pendingText, sandboxHref } from "./sandbox_actions";
import { UsageCell } from "./usage_cell";

/** The soonest automatic change, as a time in ms, and what it is. */
export function nextChange(s: Sandbox): { at: number; what: string } | null {
  const active = parseTime(s.last_activity_at);
  const created = parseTime(s.created_at);
  const started = parseTime(s.started_at);
  const isUp = s.state === "started" || s.state === "paused";
  if (!isUp) return null;
  const after = (from: number | null, ms: number, what: string) => (from !== null && ms > 0 ? [{ at: from + ms, what }] : []);
  const changes = [
    ...(s.state === "started" ? after(active, s.autoPauseMs, t.next.pause) : []),
    ...after(active, s.autoStopMs, t.next.stop),
    ...(s.persistent ? [] : after(active, s.idle_reap_ms, t.next.delete)),
    ...after(s.persistent ? started : created, s.lifetime_max_ms, s.persistent ? t.next.stop : t.next.delete),
  ];
  const timeout = parseTime(s.timeout_at);
  if (timeout !== null) changes.push({ at: timeout, what: s.persistent ? t.next.stop : t.next.delete });
  return changes.sort((a, b) => a.at - b.at)[0] ?? null;
}

function NameCell({ s }: { s: Sandbox }) {
  return (
    <a class="cut strong" href={sandboxHref(s.id)} data-tip={s.id}>
      <Safe text={s.name} max={80} />
    </a>
  );
}

function StateCell({ s }: { s: Sandbox }) {
  const doing = pendingText(s.id);
  const error = pendingOf(s.id).value?.error;
  const reason = s.state === "started" ? undefined : words.reasons[s.reason];
  const note = error ? `${error.message}${error.hint ? `\n${error.hint}` : ""}` : (reason ?? (s.last_event?.text ? showHidden(s.last_event.text) : undefined));
  return (
    <span class="row tight nowrap">
      <StateChip state={s.state} note={note} />
      {doing && <span class="meta">{doing}</span>}
      {error && <Chip tone="bad" tip={note} icon="warning">{t.failed}</Chip>}
      {!doing && !error && s.agent === "unresponsive" && <Chip tone="bad" tip={words.wrongAgent} icon="warning">{t.noAgent}</Chip>}
    </span>
  );
}

function UptimeCell({ s }: { s: Sandbox }) {
  const started = parseTime(s.started_at);
  if (started === null || (s.state !== "started" && s.state !== "paused")) return <span class="muted">–</span>;
  return <span>{formatDuration(Math.max(0, everySecond.value - started))}</span>;
}

function LastEventCell({ s }: { s: Sandbox }) {
  return (
    <span class="cut" data-tip={s.last_event?.text ? showHidden(s.last_event.text) : undefined}>
      <span class="muted">
        <Time at={s.last_event?.at} plain />
      </span>{" "}
      <Safe text={s.last_event?.text} max={120} />
    </span>
  );
}

function NextCell({ s }: { s: Sandbox }) {
  const next = nextChange(s);
  return next ? (
    <span class="nowrap">
      {next.what} <Time at={next.at} />
    </span>
  ) : (
    <span class="muted">–</span>
  );
}

const started = (s: Sandbox): number | null => (s.state === "started" || s.state === "paused" ? parseTime(s.started_at) : null);

export const SANDBOX_COLUMNS: readonly Column<Sandbox>[] = [
  { id: "name", title: t.columns.name, width: 146, grow: 3, isFixed: true, phone: "title", sort: (s) => s.name, cell: (s) => <NameCell s={s} /> },
  { id: "state", title: t.columns.state, width: 104, grow: 1, phone: "side", sort: (s) => s.state, cell: (s) => <StateCell s={s} /> },
  { id: "template", title: t.columns.template, width: 80, leaves: 6, grow: 1, phone: "meta", sort: (s) => s.template, cell: (s) => <Safe text={s.template} max={40} /> },
  { id: "provider", title: t.columns.provider, width: 84, leaves: 2, sort: (s) => s.provider, cell: (s) => <Safe text={s.provider} max={40} /> },
  { id: "isolation", title: t.columns.isolation, width: 108, leaves: 1, sort: (s) => s.isolation, cell: (s) => <Chip>{showHidden(s.isolation, 40)}</Chip> },
  { id: "cpu", title: t.columns.cpu, width: 68, leaves: 8, sort: (s) => s.resources.cpu, cell: (s) => <UsageCell s={s} kind="cpu" limit={s.resources.cpu} format={formatCores} /> },
  { id: "memory", title: t.columns.memory, width: 92, leaves: 7, sort: (s) => s.resources.memory_mb, cell: (s) => <UsageCell s={s} kind="memory" limit={s.resources.memory_mb} format={formatMib} /> },
  { id: "disk", title: t.columns.disk, width: 92, leaves: 2, sort: (s) => s.resources.disk_mb, cell: (s) => <UsageCell s={s} kind="disk" limit={s.resources.disk_mb} format={formatMib} /> },
  { id: "uptime", title: t.columns.uptime, width: 84, leaves: 3, phone: "meta", sort: started, cell: (s) => <UptimeCell s={s} /> },
  { id: "last_activity", title: t.columns.activity, width: 92, isOff: true, sort: (s) => parseTime(s.last_activity_at), cell: (s) => <Time at={s.last_activity_at} /> },
  { id: "last_event", title: t.columns.event, width: 150, leaves: 4, grow: 2, sort: (s) => parseTime(s.last_event?.at), cell: (s) => <LastEventCell s={s} /> },
  { id: "labels", title: t.columns.labels, width: 100, leaves: 5, grow: 1, cell: (s) => <LabelChips labels={s.labels as Record<string, string> | null} shown={1} /> },
  { id: "region", title: t.columns.region, width: 90, isOff: true, sort: (s) => s.region, cell: (s) => <Safe text={s.region} max={40} /> },
  { id: "volumes", title: t.columns.volumes, width: 130, isOff: true, cell: (s) => <Safe text={s.volumes?.map((v) => v.volume).join(", ")} max={80} /> },
  { id: "persistent", title: t.columns.persistent, width: 90, isOff: true, sort: (s) => String(s.persistent), cell: (s) => (s.persistent ? t.yes : <span class="muted">{t.no}</span>) },
  { id: "network", title: t.columns.network, width: 90, isOff: true, sort: (s) => s.network, cell: (s) => <Safe text={s.network} /> },
  { id: "next", title: t.columns.next, width: 130, isOff: true, sort: (s) => nextChange(s)?.at, cell: (s) => <NextCell s={s} /> },
  { id: "created", title: t.columns.created, width: 100, isOff: true, sort: (s) => parseTime(s.created_at), cell: (s) => <Time at={s.created_at} /> },
  { id: "created_by", title: t.columns.createdBy, width: 130, isOff: true, sort: (s) => s.created_by?.user ?? s.created_by?.key, cell: (s) => <Safe text={s.created_by?.user ?? s.created_by?.key} max={60} /> },
  { id: "id", title: t.columns.id, width: 130, isOff: true, sort: (s) => s.id, cell: (s) => <Id id={s.id} max={16} /> },
];
