// SPDX-License-Identifier: Apache-2.0
// filter.ts: the filter in the address, as the API takes it.
import type { AuditRow } from "../../api/generated";
import { isoOfLocal } from "../../parts/format";
import { queryOf } from "../../router";

export type Result = "ok" | "refused" | "failed" | "interrupted";

/** Text filters, in the order of the page. */
export const TEXTS = ["action", "user", "key", "target", "request"] as const;
export const TIMES = ["since", "until"] as const;

export interface Filter {
  action?: string;
  user?: string;
  key?: string;
  target?: string;
  request?: string;
  result?: Result;
  since?: string;
  until?: string;
  all?: boolean;
}

export function filterOf(results: Record<string, string>): Filter {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, queryOf(name).trim()] as const).filter(([, value]) => value));
  const times = Object.fromEntries(TIMES.map((name) => [name, isoOfLocal(queryOf(name))] as const).filter(([, value]) => value));
  const result = queryOf("result");
  return { ...texts, ...times, ...(result && result in results ? { result: result as Result } : {}), ...(queryOf("all") === "1" ? { all: true } : {}) };
}

/** Members of before and after, each with its old and new value as text; null: absent. */
export function changesOf(row: Pick<AuditRow, "before" | "after">): [name: string, before: string | null, after: string | null][] {
  const [before, after] = [flatten(row.before), flatten(row.after)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.map((name) => [name, before[name] ?? null, after[name] ?? null]);
}

/** {"sandbox ID": {"cpu": 1}} → {"sandbox ID · cpu": "1"}; two levels, as rows have. */
function flatten(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  const flat: Record<string, string> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) flat[name] = asText(inner);
    else for (const [key, leaf] of Object.entries(inner)) flat[`${name} · ${key}`] = asText(leaf);
  }
  return flat;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
