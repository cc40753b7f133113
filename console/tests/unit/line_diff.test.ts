// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDiff } from "../../src/parts/diff";
import { unifiedDiff } from "../../src/parts/line_diff";

/** Both texts, as the diff of all their lines tells them. */
function sidesOf(text: string): [string[], string[]] {
  const lines = parseDiff(text).filter((line) => line.kind !== "hunk" && line.kind !== "note");
  return [lines.filter((l) => l.kind !== "added").map((l) => l.text), lines.filter((l) => l.kind !== "removed").map((l) => l.text)];
}

test("a changed line stands between its neighbours, with the numbers of its lines", () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join("");
  const diff = unifiedDiff(before, before.replace("line 10\n", "line ten\n"));
  assert.equal(diff, "@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n");
});

test("equal texts have no diff; a new file is all added, an emptied one all removed", () => {
  assert.equal(unifiedDiff("a\n", "a\n"), "");
  assert.equal(unifiedDiff("", "a\nb\n"), "@@ -1,0 +1,2 @@\n+a\n+b\n");
  assert.equal(unifiedDiff("a\nb\n", ""), "@@ -1,2 +1,0 @@\n-a\n-b\n");
});

test("distant changes are hunks of their own, and later numbers count what came before", () => {
  const before = Array.from({ length: 30 }, (_, i) => `${i + 1}`);
  const after = [...before.slice(0, 2), "new", ...before.slice(2, 25), ...before.slice(26)];
  assert.deepEqual(unifiedDiff(`${before.join("\n")}\n`, `${after.join("\n")}\n`).split("\n").filter((l) => l.startsWith("@@")), ["@@ -1,5 +1,6 @@", "@@ -23,7 +24,6 @@"]);
});

test("a missing newline at the end is said", () => {
  assert.match(unifiedDiff("a\n", "a"), /No newline/);
  assert.match(unifiedDiff("a\nb", "a\nc\n"), /-b\n\+c\n\\ No newline/);
});

test("any two texts are both in their diff", () => {
  let seed = 7;
  const next = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 300; round++) {
    const make = (): string[] => Array.from({ length: next(20) }, () => "abc"[next(3)] ?? "a");
    const [a, b] = [make(), make()];
    const diff = unifiedDiff(a.map((l) => `${l}\n`).join(""), b.map((l) => `${l}\n`).join(""), 100);
    if (diff) assert.deepEqual(sidesOf(diff), [a, b], `${a} → ${b}: ${diff}`);
    else assert.deepEqual(a, b);
  }
});

test("texts with too many changes end quickly as removed and added", () => {
  const many = (word: string): string => Array.from({ length: 4000 }, (_, i) => `${word}${i}\n`).join("");
  const started = Date.now();
  assert.equal(parseDiff(unifiedDiff(many("a"), many("b"))).length, 8001);
  assert.ok(Date.now() - started < 5000);
});
