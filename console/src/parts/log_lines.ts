// SPDX-License-Identifier: Apache-2.0
// log_lines.ts: the lines of a log as they come, at most 200,000; older ones are dropped.
import { signal } from "@preact/signals";

export const LINES_MAX = 200_000;
const DROP = 20_000;

export class LogLines {
  private lines: string[] = [];
  private rest = "";
  private hasTimer = false;
  /** Lines that were dropped from the front. */
  dropped = 0;
  /** Grows, at most once per frame, when lines came. */
  readonly revision = signal(0);

  /** Adds text that is cut anywhere. */
  append(text: string): void {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    for (const part of parts) this.lines.push(part);
    if (this.lines.length > LINES_MAX) {
      this.lines = this.lines.slice(DROP);
      this.dropped += DROP;
    }
    this.tell();
  }

  appendLine(line: string): void {
    this.append(`${line}\n`);
  }

  clear(): void {
    this.lines = [];
    this.rest = "";
    this.dropped = 0;
    this.tell();
  }

  private tell(): void {
    if (this.hasTimer) return;
    this.hasTimer = true;
    setTimeout(() => {
      this.hasTimer = false;
      this.revision.value += 1;
    }, 16);
  }

  get count(): number {
    return this.lines.length + (this.rest === "" ? 0 : 1);
  }

  line(i: number): string {
    return i < this.lines.length ? (this.lines[i] ?? "") : this.rest;
  }

  text(): string {
    return [...this.lines, this.rest].join("\n");
  }

  /** The next line from `from` on that has the text, or -1. */
  find(text: string, from: number, isBack = false): number {
    const wanted = text.toLowerCase();
    const step = isBack ? -1 : 1;
    for (let n = 0, i = from; n < this.count; n += 1, i += step) {
      const at = ((i % this.count) + this.count) % this.count;
      if (this.line(at).toLowerCase().includes(wanted)) return at;
    }
    return -1;
  }
}
