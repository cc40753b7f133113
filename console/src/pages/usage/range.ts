// SPDX-License-Identifier: Apache-2.0
// range.ts: the times that the page shows, in whole UTC days.
export const DAY_MS = 86_400_000;
/** Days of the chart at most: each is one request. */
export const DAYS_MAX = 62;

export interface Range {
  /** Milliseconds; `to` is not included. */
  from: number;
  to: number;
}

const startOfDay = (at: number): number => at - (at % DAY_MS);

/** From the members of the address; dates are YYYY-MM-DD. */
export function rangeOf(name: string, from: string, to: string, now: number): Range {
  const tomorrow = startOfDay(now) + DAY_MS;
  if (name === "today") return { from: tomorrow - DAY_MS, to: tomorrow };
  if (name === "week") return { from: tomorrow - 7 * DAY_MS, to: tomorrow };
  const month = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth(), 1);
  if (name !== "custom") return { from: month, to: tomorrow };
  const first = Date.parse(`${from}T00:00:00Z`);
  const last = Date.parse(`${to}T00:00:00Z`);
  return { from: Number.isNaN(first) ? month : first, to: Number.isNaN(last) ? tomorrow : last };
}

export function daysOf(range: Range): number[] {
  const days: number[] = [];
  for (let at = startOfDay(range.from); at < range.to && days.length < DAYS_MAX; at += DAY_MS) days.push(at);
  return days;
}

export const isoOf = (at: number): string => new Date(at).toISOString();
export const dateOf = (at: number): string => isoOf(at).slice(0, 10);
