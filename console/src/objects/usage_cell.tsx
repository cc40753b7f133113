// SPDX-License-Identifier: Apache-2.0
// usage_cell.tsx: used against limit, from the live figures of all sandboxes; only the limit where there are none.
import { Meter } from "../parts/chip";
import { figures } from "../store/figures";
import type { Sandbox } from "../store/sandboxes";
import { sandboxes as t } from "../text/en";

export function UsageCell({ s, kind, limit, format }: { s: Sandbox; kind: "cpu" | "memory" | "disk"; limit: number; format: (n: number) => string }) {
  const used = s.state === "started" || s.state === "paused" ? (figures.of(s.id).value?.[kind] ?? null) : null;
  const said = limit > 0 ? format(limit) : t.noLimit;
  if (used === null) return <span class="muted">{said}</span>;
  return <Meter used={used} limit={limit} text={format(used)} label={t.usage(t.columns[kind], format(used), said)} />;
}
