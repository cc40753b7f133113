// SPDX-License-Identifier: Apache-2.0
// fuzzy.ts: how well a text matches what was typed: 0 not at all; letters in a row and at the start of words count more.

export function fuzzyScore(typed: string, text: string): number {
  const wanted = typed.toLowerCase().replace(/\s+/g, "");
  const lower = text.toLowerCase();
  if (wanted === "") return 1;
  const whole = lower.indexOf(typed.toLowerCase().trim());
  if (whole >= 0) return 1000 - whole - text.length / 100;
  let score = 0;
  let at = 0;
  let last = -2;
  for (const letter of wanted) {
    const found = lower.indexOf(letter, at);
    if (found < 0) return 0;
    const isStart = found === 0 || /[\s\-_/.:]/.test(lower[found - 1] ?? "");
    score += found === last + 1 ? 5 : isStart ? 4 : 1;
    last = found;
    at = found + 1;
  }
  return score / (1 + text.length / 50);
}
