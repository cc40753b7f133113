// SPDX-License-Identifier: Apache-2.0
// took.tsx: the time that a build has taken, growing while it runs.
import type { Build } from "../../api/generated";
import { formatDuration, parseTime } from "../../parts/format";
import { everySecond } from "../../store/clock";

export function Took({ build }: { build: Build }) {
  const begun = parseTime(build.started_at);
  if (begun === null) return <span class="muted">–</span>;
  return <>{formatDuration(Math.max(0, (parseTime(build.ended_at) ?? everySecond.value) - begun))}</>;
}
