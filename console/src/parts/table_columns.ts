// SPDX-License-Identifier: Apache-2.0
// table_columns.ts: which columns are on: the choice that is kept in the browser as the difference from the default, and what the table has room for.
import type { Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { preference } from "../store/preferences";

type Changes = Record<string, boolean>;
const isChanges = (value: unknown): value is Changes => typeof value === "object" && value !== null && Object.values(value).every((v) => typeof v === "boolean");
const kept = new Map<string, Signal<Changes>>();

interface ColumnLike {
  id: string;
  width: number;
  isOff?: boolean;
  isFixed?: boolean;
  leaves?: number;
}

/** Without those that leave a table that has no room for all. What the user has switched on stays. */
function fitting<C extends ColumnLike>(columns: C[], chosen: Changes, room: number): C[] {
  let over = columns.reduce((sum, c) => sum + c.width, 0) - room;
  const gone = new Set<C>();
  for (const column of columns.filter((c) => c.leaves && !chosen[c.id]).sort((a, b) => (a.leaves ?? 0) - (b.leaves ?? 0))) {
    if (over <= 0) break;
    gone.add(column);
    over -= column.width;
  }
  return gone.size ? columns.filter((c) => !gone.has(c)) : columns;
}

/** `room` is the width for columns in pixels. */
export function useColumns<C extends ColumnLike>(table: string, all: readonly C[], room: number) {
  let changes = kept.get(table);
  if (!changes) {
    changes = preference<Changes>(`columns.${table}`, {}, isChanges);
    kept.set(table, changes);
  }
  const signal = changes;
  const now = signal.value;
  const columns = useMemo(() => fitting(all.filter((c) => c.isFixed || (now[c.id] ?? !c.isOff)), now, room), [all, now, room]);
  const isShown = (id: string): boolean => columns.some((c) => c.id === id);
  return {
    columns,
    isShown,
    toggle: (id: string) => (signal.value = { ...now, [id]: !isShown(id) }),
    reset: () => (signal.value = {}),
  };
}
