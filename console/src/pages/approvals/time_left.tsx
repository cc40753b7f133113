// SPDX-License-Identifier: Apache-2.0
// time_left.tsx: how much of its time a waiting call has used.
import type { Approval } from "../../api/generated";
import { Meter } from "../../parts/chip";
import { formatRelative, NOT_KNOWN, parseTime } from "../../parts/format";
import { everySecond } from "../../store/clock";
import { approvals as t } from "../../text/en";

export function TimeLeft({ of }: { of: Approval }) {
  const from = parseTime(of.createdAt);
  const to = parseTime(of.expiresAt);
  if (from === null || to === null) return <span class="muted">{NOT_KNOWN}</span>;
  const now = Math.min(everySecond.value, to);
  return <Meter used={now - from} limit={to - from} text={formatRelative(to, now)} label={t.timeLeft} />;
}
