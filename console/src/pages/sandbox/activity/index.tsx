// SPDX-License-Identifier: Apache-2.0
// Every command, code block, tool call and file operation of a sandbox, live, and what each of them wrote.
import { linkOf } from "../../../api/call";
import { Button, ButtonLink } from "../../../parts/button";
import { CheckField, Segmented, TextField } from "../../../parts/field";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Empty, ErrorNote, Skeleton } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Table, type Column } from "../../../parts/table";
import { Safe, Time } from "../../../parts/text";
import { useItems } from "../../../parts/view";
import { queryOf, setQuery } from "../../../router";
import { sandboxActivity as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { Detail } from "./detail";
import { Outcome } from "./outcome";
import { activityPath, useActivity, type ActivityRow } from "./rows";
import "./activity.css";

const COLUMNS: readonly Column<ActivityRow>[] = [
  { id: "at", title: t.at, width: 100, isFixed: true, phone: "meta", cell: (r) => <Time at={r.at} /> },
  { id: "what", title: t.what, width: 120, phone: "meta", cell: (r) => <span class="cut"><span class="muted">{showHidden(r.kind, 20)}</span> <Safe text={r.operation} max={40} /></span> },
  { id: "arguments", title: t.arguments, width: 220, grow: 4, isFixed: true, phone: "title", cell: (r) => <span class="cut"><Safe text={r.arguments} max={200} mono /></span> },
  { id: "result", title: t.result, width: 110, phone: "side", cell: (r) => <Outcome row={r} /> },
  { id: "duration", title: t.duration, width: 90, align: "end", cell: (r) => formatDuration(r.duration_ms) },
  { id: "output", title: t.output, width: 90, align: "end", cell: (r) => formatBytes(r.output_bytes) },
  { id: "by", title: t.by, width: 130, grow: 1, cell: (r) => <Safe text={r.conversation ?? r.user ?? r.key} max={60} /> },
];

function fits(row: ActivityRow, q: string, onlyFailed: boolean): boolean {
  if (onlyFailed && row.ok) return false;
  if (!q) return true;
  const text = `${row.operation}\n${row.arguments}\n${row.error ?? ""}\n${row.encoding ? "" : row.head + row.tail}`;
  return text.toLowerCase().includes(q.toLowerCase());
}

export default function ActivityTab({ sandbox }: TabProps) {
  const kind = t.kinds[queryOf("kind")] ? queryOf("kind") : "";
  const q = queryOf("q");
  const onlyFailed = queryOf("failed") !== "";
  const activity = useActivity(sandbox.id, kind);
  const rows = activity.rows.value;
  const source = useItems(rows, (r) => String(r.sequence));
  const error = activity.error.value;
  const opened = rows.find((r) => String(r.sequence) === queryOf("call"));
  if (error?.status === 404 && sandbox.state !== "deleted") return <Empty icon="pulse" title={t.unavailable}>{t.unavailableText}</Empty>;
  return (
    <div class="activity">
      <div class="row activity-tools">
        <Segmented label={t.kind} value={kind} choices={Object.entries(t.kinds).map(([value, label]) => ({ value, label }))} onChange={(value) => setQuery({ kind: value || undefined }, false)} />
        <div class="activity-search"><TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={q} onChange={(value) => setQuery({ q: value })} /></div>
        <CheckField label={t.onlyFailed} value={onlyFailed} onChange={(on) => setQuery({ failed: on ? "1" : undefined }, false)} />
        <span class="grow" />
        <span class="meta" role="status">{activity.isLive.value ? t.live : t.notLive}</span>
        <ButtonLink isSmall icon="download" download={`activity-${sandbox.id}.csv`} href={linkOf(activityPath(sandbox.id), {}, { kind, format: "csv", limit: 1000 })}>{t.csv}</ButtonLink>
      </div>
      {error && <ErrorNote error={error} onRetry={activity.start} />}
      {activity.status.value === "loading" && rows.length === 0 ? (
        <Skeleton lines={8} />
      ) : (
        <Table
          name="activity"
          label={t.title}
          source={source}
          columns={COLUMNS}
          nameOf={(r) => showHidden(r.arguments, 80)}
          filter={(r) => fits(r, q, onlyFailed)}
          filterKey={`${q} ${onlyFailed}`}
          onOpen={(r) => setQuery({ call: String(r.sequence) }, false)}
          actionsOf={(r) => <Button isSmall kind="quiet" icon="right" label={t.detail} onClick={() => setQuery({ call: String(r.sequence) }, false)} />}
          actionsWidth={44}
          empty={q || onlyFailed || kind ? <Empty icon="search" title={t.noMatch} /> : !error && <Empty icon="pulse" title={t.none} command={`atoll exec ${sandbox.id} -- uname -a`}>{t.noneText}</Empty>}
        />
      )}
      {opened && <Detail row={opened} sandbox={sandbox.id} onClose={() => setQuery({ call: undefined }, false)} />}
    </div>
  );
}
