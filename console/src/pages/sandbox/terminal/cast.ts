// SPDX-License-Identifier: Apache-2.0
// cast.ts: a recording in the asciicast format, version 2: a head, then one event a line: [seconds, "o", text].

export interface Cast {
  columns: number;
  rows: number;
  /** Sorted by time; a change of size has text "COLUMNSxROWS". */
  events: readonly { at: number; kind: "o" | "r"; text: string }[];
  /** Seconds. */
  length: number;
}

const COLUMNS_MAX = 500;
const ROWS_MAX = 300;
const whole = (value: unknown, max: number, otherwise: number): number => (typeof value === "number" && value >= 1 && value <= max ? Math.floor(value) : otherwise);

/** null: the text is no recording. A line that is broken, as the last after a crash, is left out. */
export function parseCast(text: string): Cast | null {
  const [head = "", ...lines] = text.split("\n");
  const events: { at: number; kind: "o" | "r"; text: string }[] = [];
  let about: Record<string, unknown>;
  try {
    about = JSON.parse(head) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (about["version"] !== 2) return null;
  for (const line of lines) {
    try {
      const [at, kind, data] = JSON.parse(line) as [unknown, unknown, unknown];
      if (typeof at === "number" && (kind === "o" || kind === "r") && typeof data === "string") events.push({ at, kind, text: data });
    } catch {
      // A line that was cut off.
    }
  }
  return { columns: whole(about["width"], COLUMNS_MAX, 80), rows: whole(about["height"], ROWS_MAX, 24), events, length: events.at(-1)?.at ?? 0 };
}

/** The size at the event `until`. */
export function sizeAt(cast: Cast, until: number): { columns: number; rows: number } {
  for (let i = Math.min(until, cast.events.length) - 1; i >= 0; i--) {
    const match = cast.events[i]?.kind === "r" ? /^(\d+)x(\d+)$/.exec(cast.events[i]?.text ?? "") : null;
    if (match) return { columns: whole(Number(match[1]), COLUMNS_MAX, cast.columns), rows: whole(Number(match[2]), ROWS_MAX, cast.rows) };
  }
  return { columns: cast.columns, rows: cast.rows };
}
