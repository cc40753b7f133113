// SPDX-License-Identifier: Apache-2.0
// nodes.tsx: the nodes of the fleet with the age of their heartbeats.
import { Chip, StateChip } from "../../parts/chip";
import { formatDuration } from "../../parts/format";
import { Card } from "../../parts/layout";
import { PlainTable } from "../../parts/plain_table";
import { Safe } from "../../parts/text";
import type { ServerNode } from "../../store/server";
import { server as t } from "../../text/en";

/** A heartbeat older than this is late. */
const LATE_MS = 30_000;

export function Nodes({ nodes }: { nodes: readonly ServerNode[] }) {
  return (
    <Card title={t.nodes}>
      <PlainTable label={t.nodes} heads={[t.node, t.url, t.state, t.seen]}>
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
      </PlainTable>
    </Card>
  );
}
