// SPDX-License-Identifier: Apache-2.0
// safe.ts: text from outside, made visible: control characters, overrides of the writing direction and characters without width
// become marks, so that a name cannot pretend to be another.

// C0, DEL and C1; soft hyphen; zero width, joiners and directions; line and paragraph ends; overrides and isolates; tags; BOM.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{e0000}-\u{e007f}]/gu;
const CONTROL_PICTURES = 0x2400;
/** Marks on one letter beyond these are cut. */
const MARKS = /(\p{M}{4})\p{M}+/gu;
export const TEXT_MAX = 200;

function mark(c: string): string {
  const code = c.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  if (code === 0x7f) return "␡";
  return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text with its hidden characters as marks, at most `max` characters. */
export function showHidden(text: string, max = TEXT_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replace(HIDDEN, mark).replace(MARKS, "$1…");
}

/** The same for text of several lines: line ends and tabs stay. */
export function showHiddenLines(text: string): string {
  return text.replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : mark(c)));
}

/** An address of the web, or null: links are made of nothing else. */
export function safeLink(address: string): string | null {
  try {
    const url = new URL(address);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/** A cell of a CSV file that no spreadsheet takes for a formula. */
export function csvCell(value: unknown): string {
  const text = String(value ?? "");
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
