// SPDX-License-Identifier: Apache-2.0
// samples.ts: what the server has measured, as rows of charts. Unknown (-1) is null; a time without samples is a gap, not a line.
import type { Event, StatsSample } from "../../../api/generated";
import type { Mark } from "../../../parts/chart";
import { parseTime } from "../../../parts/format";
import { sandboxMetrics as t } from "../../../text/en";

export interface Rows {
  times: number[];
  cpu: (number | null)[];
  memory: (number | null)[];
  disk: (number | null)[];
  received: (number | null)[];
  sent: (number | null)[];
  processes: (number | null)[];
}

const known = (n: number): number | null => (n < 0 ? null : n);
/** Samples that are further apart than so many usual steps have a gap between them. */
const GAP_STEPS = 4;
const GAP_MIN_MS = 60_000;

function usualStep(times: readonly number[]): number {
  const steps = times.slice(1).map((at, i) => at - (times[i] ?? at)).sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 0;
}

/** Bytes per second since the sample before; a counter that began anew has none. */
function rate(now: number, before: number, ms: number): number | null {
  return now < 0 || before < 0 || now < before || ms <= 0 ? null : ((now - before) * 1000) / ms;
}

export function rowsOf(samples: readonly StatsSample[]): Rows {
  const known_ = samples.map((s) => ({ ...s, ms: parseTime(s.at) })).filter((s): s is StatsSample & { ms: number } => s.ms !== null).sort((a, b) => a.ms - b.ms);
  const gap = Math.max(GAP_MIN_MS, usualStep(known_.map((s) => s.ms)) * GAP_STEPS);
  const rows: Rows = { times: [], cpu: [], memory: [], disk: [], received: [], sent: [], processes: [] };
  known_.forEach((s, i) => {
    const before = known_[i - 1];
    const isGap = before !== undefined && s.ms - before.ms > gap;
    if (before && s.ms <= before.ms) return;
    if (isGap) addGap(rows, before.ms + 1);
    const last = isGap ? undefined : before;
    rows.times.push(s.ms);
    rows.cpu.push(s.cpu_percent < 0 ? null : s.cpu_percent / 100);
    rows.memory.push(known(s.memory_bytes));
    rows.disk.push(known(s.disk_bytes));
    rows.processes.push(known(s.pids));
    rows.received.push(last ? rate(s.network_in_bytes, last.network_in_bytes, s.ms - last.ms) : null);
    rows.sent.push(last ? rate(s.network_out_bytes, last.network_out_bytes, s.ms - last.ms) : null);
  });
  return rows;
}

function addGap(rows: Rows, at: number): void {
  rows.times.push(at);
  for (const name of ["cpu", "memory", "disk", "received", "sent", "processes"] as const) rows[name].push(null);
}

/** Where the life of the sandbox changed within a time. */
export function marksOf(events: readonly Event[], from: number, until: number): Mark[] {
  return events.flatMap((event) => {
    const at = parseTime(event.at);
    const label = event.reason === "oom" ? t.oom : t.marks[event.kind];
    return at !== null && label && at >= from && at <= until ? [{ at, label }] : [];
  });
}
