// SPDX-License-Identifier: Apache-2.0
// text.tsx: text from outside and times, shown safely and the same everywhere.
import { formatFull, formatRelative, NOT_KNOWN, parseTime, cutMiddle } from "./format";
import { showHidden } from "./safe";
import { everyHalfMinute, everySecond } from "../store/clock";

/** A name, label, path or title that a user or a program chose. */
export function Safe({ text, max, mono }: { text: string | null | undefined; max?: number; mono?: boolean }) {
  if (text === null || text === undefined || text === "") return <span class="muted">{NOT_KNOWN}</span>;
  return <bdi class={mono ? "mono safe" : "safe"}>{showHidden(text, max)}</bdi>;
}

/** An id, cut in the middle, whole in its tooltip. */
export function Id({ id, max = 13 }: { id: string; max?: number }) {
  return (
    <span class="mono" data-tip={id}>
      {cutMiddle(showHidden(id), max)}
    </span>
  );
}

/** "4 min ago" or "in 4 min", ticking; the whole time in its tooltip. plain: "4 min". */
export function Time({ at, plain }: { at: string | number | null | undefined; plain?: boolean }) {
  const ms = typeof at === "number" ? at : parseTime(at);
  if (ms === null) return <span class="muted">{NOT_KNOWN}</span>;
  const fine = Math.abs(everyHalfMinute.value - ms) < 60_000;
  const now = fine ? everySecond.value : everyHalfMinute.value;
  const text = formatRelative(ms, now);
  const isDate = text.includes("-");
  const said = plain || isDate ? text : ms > now + 1000 ? `in ${text}` : `${text} ago`;
  return (
    <time dateTime={new Date(ms).toISOString()} data-tip={formatFull(ms)}>
      {said}
    </time>
  );
}

/** A key or several, as on a keyboard. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span class="keys">
      {keys.split(" ").map((k) => (
        <kbd key={k}>{k}</kbd>
      ))}
    </span>
  );
}
