// SPDX-License-Identifier: Apache-2.0
// diff.tsx: a unified diff as git writes it, with line numbers, + and −.
import { common as t } from "../text/en";
import { showHiddenLines } from "./safe";

export interface DiffLine {
  kind: "added" | "removed" | "same" | "hunk" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

/** Parses the hunks of one file's unified diff; head lines are left out. */
export function parseDiff(text: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      inHunk = true;
      lines.push({ kind: "hunk", text: line, before: null, after: null });
    } else if (!inHunk || line.startsWith("diff ")) inHunk = false;
    else if (line.startsWith("+")) lines.push({ kind: "added", text: line.slice(1), before: null, after: after++ });
    else if (line.startsWith("-")) lines.push({ kind: "removed", text: line.slice(1), before: before++, after: null });
    else if (line.startsWith("\\")) lines.push({ kind: "note", text: line.slice(2), before: null, after: null });
    else lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
  }
  return lines;
}

const SIGN = { added: "+", removed: "−", same: " ", hunk: "", note: "" } as const;
const LINES_MAX = 5000;

export function Diff({ text, label }: { text: string; label: string }) {
  const lines = parseDiff(text);
  if (lines.length === 0) return <p class="muted">{t.diff.noText}</p>;
  return (
    <div class="diff" role="region" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {lines.slice(0, LINES_MAX).map((line, i) => (
            <tr key={i} class={`diff-${line.kind}`}>
              <td class="diff-number">{line.before}</td>
              <td class="diff-number">{line.after}</td>
              <td class="diff-sign">
                {SIGN[line.kind]}
                {(line.kind === "added" || line.kind === "removed") && <span class="off-screen">{t.diff[line.kind]}</span>}
              </td>
              <td class="diff-text">{showHiddenLines(line.text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
