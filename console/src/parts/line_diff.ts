// SPDX-License-Identifier: Apache-2.0
// line_diff.ts: two texts as one unified diff, for parts/diff.tsx.

const CONTEXT = 3;
/** Steps of the search; beyond them the changed middle is shown as removed and added. */
const EDITS_MAX = 1000;
const NO_NEWLINE = "\\ No newline at end of file";

type Kind = " " | "-" | "+";
interface Line {
  kind: Kind;
  text: string;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The furthest points of each round of Myers' search; null when the texts differ by more than EDITS_MAX lines. */
function searchRounds(a: readonly string[], b: readonly string[]): Map<number, number>[] | null {
  const rounds: Map<number, number>[] = [];
  let furthest = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= EDITS_MAX; d++) {
    const next = new Map(furthest);
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && (next.get(k - 1) ?? 0) < (next.get(k + 1) ?? 0));
      let x = isDown ? (next.get(k + 1) ?? 0) : (next.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return [...rounds, furthest];
    }
    rounds.push(furthest);
    furthest = next;
  }
  return null;
}

function middleLines(a: readonly string[], b: readonly string[]): Line[] {
  const rounds = searchRounds(a, b);
  if (!rounds) return [...a.map((text): Line => ({ kind: "-", text })), ...b.map((text): Line => ({ kind: "+", text }))];
  const lines: Line[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = rounds.length - 1; d >= 0; d--) {
    const furthest = rounds[d] as Map<number, number>;
    const k = x - y;
    const isDown = k === -d || (k !== d && (furthest.get(k - 1) ?? 0) < (furthest.get(k + 1) ?? 0));
    const fromK = isDown ? k + 1 : k - 1;
    const fromX = furthest.get(fromK) ?? 0;
    const fromY = fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0) lines.push({ kind: " ", text: a[--x] as string }), y--;
    if (d === 0) break;
    if (isDown) lines.push({ kind: "+", text: b[--y] as string });
    else lines.push({ kind: "-", text: a[--x] as string });
  }
  return lines.reverse();
}

function diffLines(a: readonly string[], b: readonly string[]): Line[] {
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let [endA, endB] = [a.length, b.length];
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) endA--, endB--;
  const same = (text: string): Line => ({ kind: " ", text });
  return [...a.slice(0, from).map(same), ...middleLines(a.slice(from, endA), b.slice(from, endB)), ...a.slice(endA).map(same)];
}

/** The changed lines with `context` lines around them, as ranges of `lines`. */
function rangesOf(lines: readonly Line[], context: number): [number, number][] {
  const ranges: [number, number][] = [];
  lines.forEach((line, i) => {
    if (line.kind === " ") return;
    const last = ranges.at(-1);
    if (last && i - context <= last[1]) last[1] = Math.min(lines.length, i + context + 1);
    else ranges.push([Math.max(0, i - context), Math.min(lines.length, i + context + 1)]);
  });
  return ranges;
}

/** A unified diff without head lines; "" when the texts are equal. */
export function unifiedDiff(before: string, after: string, context = CONTEXT): string {
  const lines = diffLines(linesOf(before), linesOf(after));
  const out: string[] = [];
  let [at, atBefore, atAfter] = [0, 1, 1];
  const pass = (to: number): void => {
    for (; at < to; at++) {
      if (lines[at]?.kind !== "+") atBefore++;
      if (lines[at]?.kind !== "-") atAfter++;
    }
  };
  for (const [from, to] of rangesOf(lines, context)) {
    pass(from);
    const hunk = lines.slice(from, to);
    const sizeOf = (other: Kind): number => hunk.filter((line) => line.kind !== other).length;
    out.push(`@@ -${atBefore},${sizeOf("+")} +${atAfter},${sizeOf("-")} @@`, ...hunk.map((line) => line.kind + line.text));
    pass(to);
  }
  const endings = [before, after].map((text) => text === "" || text.endsWith("\n"));
  if (endings[0] !== endings[1]) {
    if (out.length === 0 && lines.length > 0) out.push(`@@ -${lines.length},1 +${lines.length},1 @@`, ` ${lines.at(-1)?.text ?? ""}`);
    out.push(NO_NEWLINE);
  }
  return out.length ? `${out.join("\n")}\n` : "";
}
