// SPDX-License-Identifier: Apache-2.0
// outcome.tsx: what came of a call, as a chip.
import { Chip } from "../../../parts/chip";
import { showHidden } from "../../../parts/safe";
import { sandboxActivity as t } from "../../../text/en";
import type { ActivityRow } from "./rows";

export function Outcome({ row }: { row: ActivityRow }) {
  if (row.outcome === "unknown") return <Chip tip={t.unknownTip}>{t.unknown}</Chip>;
  const text = row.exit_code > 0 ? t.exit(row.exit_code) : row.ok ? t.ok : t.failed;
  return <Chip tone={row.ok ? "good" : "bad"} icon={row.ok ? "check" : "warning"} tip={row.error ? showHidden(row.error, 200) : undefined}>{text}</Chip>;
}
