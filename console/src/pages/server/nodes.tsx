// SPDX-License-Identifier: Apache-2.0
// nodes.tsx: the nodes of the fleet with the age of their heartbeats.
import { Chip, StateChip } from "../../parts/chip";
import { formatDuration } from "../../parts/format";
import { Card } from "../../parts/layout";
import { Safe } from "../../parts/text";
import type { ServerNode } from "../../store/server";
import { server as t } from "../../text/en";

/** A heartbeat older than this is late. */
const LATE_MS = 30_000;

export function Nodes({ nodes }: { nodes: readonly ServerNode[] }) {
  return (
    <Card title={t.nodes}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={t.nodes}>
        <table class="plain-table">
          <thead>
            <tr>
              {[t.node, t.url, t.state, t.seen].map((title) => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {nodes.map((n) => (
              <tr key={n.node}>
                <td>
                  <Safe text={n.node} mono /> {n.self && <Chip>{t.self}</Chip>}
                </td>
                <td>
                  <Safe text={n.url} mono />
                </td>
                <td>
                  <StateChip state={n.state} />
                </td>
                <td class={n.heartbeat_age_ms > LATE_MS ? "text-warn" : ""}>{formatDuration(n.heartbeat_age_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
