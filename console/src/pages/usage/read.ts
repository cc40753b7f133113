// SPDX-License-Identifier: Apache-2.0
// read.ts: the sums of the range, and of each of its days, for one grouping.
import { addressOf, fetchRaw } from "../../api/call";
import type { UsageSum } from "../../api/generated";
import { DAY_MS, daysOf, isoOf, type Range } from "./range";

/** name: of the key, sandbox or user, where the server knows it. */
export type Sum = UsageSum & { name?: string | null };
export interface UsageRead {
  /** Over the whole range, the dearest first. */
  sums: Sum[];
  days: { at: number; sums: Sum[] }[];
}

/** Requests that run at once. */
const AT_ONCE = 4;
const PAGE = 1000;
export const LABEL = "label:";

/** "label:NAME" groups by the values of that label. */
export function groupQuery(group: string): { group_by: string; label?: string } {
  return group.startsWith(LABEL) ? { group_by: "label", label: group.slice(LABEL.length) } : { group_by: group };
}

async function readSums(range: Range, group: string, signal: AbortSignal): Promise<Sum[]> {
  const sums: Sum[] = [];
  let page: string | null = null;
  do {
    const query = { from: isoOf(range.from), to: isoOf(range.to), ...groupQuery(group), limit: PAGE, page };
    const answer = (await (await fetchRaw("GET", addressOf("/v1/usage", {}, query), { signal })).json()) as { items: Sum[]; next_page: string | null };
    sums.push(...answer.items);
    page = answer.next_page;
  } while (page);
  return sums.sort((a, b) => b.usd_micro - a.usd_micro || b.seconds - a.seconds || (a.group < b.group ? -1 : 1));
}

export async function readUsage(range: Range, group: string, signal: AbortSignal): Promise<UsageRead> {
  const sums = await readSums(range, group, signal);
  const starts = sums.length ? daysOf(range) : [];
  const days = starts.map((at) => ({ at, sums: [] as Sum[] }));
  let next = 0;
  const work = async (): Promise<void> => {
    for (let day = days[next++]; day; day = days[next++]) {
      const of: Range = { from: Math.max(day.at, range.from), to: Math.min(day.at + DAY_MS, range.to) };
      day.sums = await readSums(of, group, signal);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { sums, days };
}

export interface Stack {
  label: string;
  values: number[];
}

/** What is drawn: the cost, or the run time where nothing costs anything. */
export type Measure = "usd" | "seconds";
export const measureOf = (read: UsageRead): Measure => (read.sums.some((s) => s.usd > 0) ? "usd" : "seconds");

/** The dearest groups as a stack for each day; the rest together is the last. */
export function stacksOf(read: UsageRead, measure: Measure, most: number, others: string): Stack[] {
  const top = read.sums.slice(0, read.sums.length > most ? most - 1 : most);
  const names = new Set(top.map((s) => s.group));
  const stacks = top.map((s) => ({ label: nameOf(s), values: read.days.map((d) => d.sums.find((x) => x.group === s.group)?.[measure] ?? 0) }));
  if (read.sums.length > top.length) {
    stacks.push({ label: others, values: read.days.map((d) => d.sums.filter((s) => !names.has(s.group)).reduce((sum, s) => sum + s[measure], 0)) });
  }
  return stacks;
}

export const nameOf = (sum: Sum): string => sum.name || sum.group || "–";
