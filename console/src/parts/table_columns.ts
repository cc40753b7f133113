// SPDX-License-Identifier: Apache-2.0
// table_columns.ts: which columns are on; kept in the browser as the difference from the default.
import type { Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { preference } from "../store/preferences";

type Changes = Record<string, boolean>;
const isChanges = (value: unknown): value is Changes => typeof value === "object" && value !== null && Object.values(value).every((v) => typeof v === "boolean");
const kept = new Map<string, Signal<Changes>>();

interface ColumnLike {
  id: string;
  isOff?: boolean;
  isFixed?: boolean;
}

export function useColumns<C extends ColumnLike>(table: string, all: readonly C[]) {
  let changes = kept.get(table);
  if (!changes) {
    changes = preference<Changes>(`columns.${table}`, {}, isChanges);
    kept.set(table, changes);
  }
  const signal = changes;
  const now = signal.value;
  const isShown = (id: string): boolean => now[id] ?? !all.find((c) => c.id === id)?.isOff;
  const columns = useMemo(() => all.filter((c) => c.isFixed || isShown(c.id)), [all, now]);
  return {
    columns,
    isShown,
    toggle: (id: string) => (signal.value = { ...now, [id]: !isShown(id) }),
    reset: () => (signal.value = {}),
  };
}
