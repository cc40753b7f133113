// SPDX-License-Identifier: Apache-2.0
// figures.tsx: the figures of the server since its start.
import { formatCount, formatDuration, formatPercent } from "../../parts/format";
import { Card, Tile } from "../../parts/layout";
import { showHidden } from "../../parts/safe";
import type { ServerLane, ServerMetrics } from "../../store/server";
import { server as t } from "../../text/en";

/** A share in percent; null without any. */
const share = (part: number, rest: number): number | null => (part + rest === 0 ? null : (100 * part) / (part + rest));
/** Milliseconds below ten keep a digit. */
const ms = (value: number): string => (value > 0 && value < 10 ? `${value.toFixed(1)} ms` : formatDuration(value));

export function Figures({ metrics: m }: { metrics: ServerMetrics }) {
  const answers = m.responses_2xx + m.responses_3xx + m.responses_4xx + m.responses_5xx;
  return (
    <Card title={t.metrics}>
      <div class="tiles">
        <Tile label={t.requests} value={formatCount(m.requests.count)} note={t.waitingNote(formatCount(m.requests_waiting))} />
        <Tile label={t.requestTime} value={ms(m.requests.p50_ms)} note={t.p99(ms(m.requests.p99_ms))} />
        <Tile label={t.store} value={ms(m.store.p50_ms)} note={t.p99(ms(m.store.p99_ms))} />
        <Tile label={t.connections} value={formatCount(m.connections)} note={t.streams(formatCount(m.streams))} />
        <Tile label={t.errors} value={formatCount(m.responses_5xx)} note={t.ofAll(formatCount(answers))} tone={m.responses_5xx > 0 ? "warn" : undefined} />
        <Tile label={t.pool} value={formatPercent(share(m.pool_hits, m.pool_misses))} note={t.poolNote(formatCount(m.pool_ready), formatCount(m.pool_target))} />
      </div>
      {m.lanes.length > 0 && <Lanes lanes={m.lanes} />}
    </Card>
  );
}

function Lanes({ lanes }: { lanes: readonly ServerLane[] }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t.lanes}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{t.lane}</th>
            {[t.running, t.waiting, t.longest, t.refused].map((title) => (
              <th scope="col" class="end" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lanes.map((l) => (
            <tr key={l.lane}>
              <td class="mono">{showHidden(l.lane)}</td>
              <td class="end">{formatCount(l.running)}</td>
              <td class="end">{formatCount(l.waiting)}</td>
              <td class="end">{formatDuration(l.longest_wait_ms)}</td>
              <td class="end">{formatCount(l.refused)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
