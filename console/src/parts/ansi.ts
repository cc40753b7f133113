// SPDX-License-Identifier: Apache-2.0
// ansi.ts: lines of a log: colours become classes, "\r" rewrites the line, every other control sequence is dropped.
import { showHiddenLines } from "./safe";

export interface Span {
  text: string;
  /** "" or classes such as "fg1 bold". */
  style: string;
}

// CSI, OSC, DCS/APC/PM/SOS strings, and other escapes of two characters.
const SEQUENCE = /\x1b\[([0-9;:?]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g;

class Style {
  foreground = "";
  background = "";
  isBold = false;
  isDim = false;

  apply(codes: string): void {
    const list = codes.split(/[;:]/).map(Number);
    for (let i = 0; i < list.length; i += 1) {
      const code = list[i] ?? 0;
      if (code === 0) Object.assign(this, new Style());
      else if (code === 1) this.isBold = true;
      else if (code === 2) this.isDim = true;
      else if (code === 22) this.isBold = this.isDim = false;
      else if (code >= 30 && code <= 37) this.foreground = `fg${code - 30}`;
      else if (code >= 90 && code <= 97) this.foreground = `fg${code - 90}`;
      else if (code === 39) this.foreground = "";
      else if (code >= 40 && code <= 47) this.background = `bg${code - 40}`;
      else if (code === 49) this.background = "";
      else if (code === 38 || code === 48) i += list[i + 1] === 5 ? 2 : 4;
    }
  }

  toString(): string {
    return [this.foreground, this.background, this.isBold && "bold", this.isDim && "dim"].filter(Boolean).join(" ");
  }
}

/** What a terminal would leave of a line with carriage returns. */
export function lastRewrite(line: string): string {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  return whole.slice(whole.lastIndexOf("\r") + 1);
}

export function spansOf(line: string): Span[] {
  const text = lastRewrite(line);
  if (!text.includes("\x1b")) return [{ text: showHiddenLines(text), style: "" }];
  const style = new Style();
  const spans: Span[] = [];
  let at = 0;
  for (const m of text.matchAll(SEQUENCE)) {
    if (m.index > at) spans.push({ text: showHiddenLines(text.slice(at, m.index)), style: String(style) });
    if (m[2] === "m") style.apply(m[1] ?? "");
    at = m.index + m[0].length;
  }
  if (at < text.length) spans.push({ text: showHiddenLines(text.slice(at)), style: String(style) });
  return spans;
}
