// SPDX-License-Identifier: Apache-2.0
// The figures of the project. One whose source fails is a dash, never 0.
import { ErrorNote } from "../../parts/notice";
import { formatCount, formatMoney, NOT_KNOWN } from "../../parts/format";
import { Tile } from "../../parts/layout";
import { href } from "../../router";
import { budgets } from "../../store/lists";
import { useSummary } from "../../store/summary";
import { overview as t } from "../../text/en";

const STATES = ["started", "paused", "stopped", "failed"] as const;

export function Tiles() {
  const summary = useSummary();
  const s = summary.data.value;
  const error = summary.error.value;
  const day = budgets.items.find((b) => b.scope === "project" && b.window === "day") ?? budgets.items.find((b) => b.scope === "project");
  const figure = (n: number | undefined): string => (s ? formatCount(n ?? 0) : NOT_KNOWN);
  return (
    <>
      {error && !s && <ErrorNote error={error} onRetry={summary.reload} />}
      <div class="tiles overview-tiles">
        {STATES.map((state) => (
          <Tile key={state} label={t.tiles[state]} value={figure(s?.sandboxes[state])} tone={state === "failed" && s?.sandboxes[state] ? "bad" : undefined} href={href("sandboxes", { q: `state:${state}` })} />
        ))}
        <Tile label={t.tiles.jobs} value={figure(s?.jobs_running)} />
        <Tile label={t.tiles.approvals} value={figure(s?.approvals_pending)} tone={s?.approvals_pending ? "warn" : undefined} href={href("approvals")} />
        <Tile label={t.tiles.templates} value={figure(s?.templates)} note={s?.builds_running ? t.building(s.builds_running) : ""} href={href("templates")} />
        <Tile label={t.tiles.volumes} value={figure(s?.volumes)} href={href("volumes")} />
        <Tile label={t.tiles.snapshots} value={figure(s?.snapshots)} href={href("snapshots")} />
        <Tile label={t.tiles.cost} value={formatMoney(s?.cost_today)} note={day ? t.budget(formatMoney(day.spent_usd), formatMoney(day.limit_usd)) : ""} href={href("usage")} />
      </div>
    </>
  );
}
