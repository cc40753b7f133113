// SPDX-License-Identifier: Apache-2.0
// table_keys.ts: the cursor of a table and its keys: j k ↓ ↑ move, x selects, Shift extends, Enter opens, Space peeks.
import { signal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

export class Cursor {
  readonly id = signal<string | null>(null);
  index = 0;
  /** The cursor came by a key: it is scrolled into view. */
  byKey = false;
  private anchor: string | null = null;

  move(ids: readonly string[], to: number): void {
    const id = ids[Math.max(0, Math.min(ids.length - 1, to))];
    if (id === undefined) return;
    this.byKey = true;
    this.id.value = id;
  }

  /** Selects or drops one row, or with Shift all from the last one on. */
  toggle(ids: readonly string[], id: string, selection: Signal<ReadonlySet<string>>, isRange: boolean): void {
    if (isRange && this.anchor !== null) return this.extend(ids, id, selection);
    const next = new Set(selection.peek());
    if (!next.delete(id)) next.add(id);
    this.anchor = id;
    this.id.value = id;
    selection.value = next;
  }

  extend(ids: readonly string[], id: string, selection: Signal<ReadonlySet<string>>): void {
    const from = ids.indexOf(this.anchor ?? id);
    const to = ids.indexOf(id);
    const next = new Set(selection.peek());
    for (const other of ids.slice(Math.max(0, Math.min(from, to)), Math.max(from, to) + 1)) next.add(other);
    selection.value = next;
    this.id.value = id;
  }
}

export function useCursor(): Cursor {
  return useMemo(() => new Cursor(), []);
}

export interface GridKeys {
  ids: readonly string[];
  cursor: Cursor;
  selection?: Signal<ReadonlySet<string>>;
  /** Rows that fit into the window. */
  page: number;
  open: (id: string) => void;
  peek: (id: string) => void;
}

export function handleGridKey(e: KeyboardEvent, grid: GridKeys): void {
  const target = e.target as HTMLElement;
  if (e.defaultPrevented || target.closest("input:not(.check), textarea, select, [role=menu]")) return;
  const { cursor, ids, selection } = grid;
  const id = cursor.id.peek();
  const at = id === null ? -1 : ids.indexOf(id);
  const steps: Record<string, number> = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: ids.length - 1, PageDown: at + grid.page, PageUp: at - grid.page };
  const isControl = target.closest("a, button, input") !== null;
  const to = steps[e.key];
  if (to !== undefined && !e.ctrlKey && !e.metaKey && !e.altKey) {
    if (e.shiftKey && selection && id !== null) cursor.toggle(ids, id, selection, false);
    cursor.move(ids, to);
    const next = cursor.id.peek();
    if (e.shiftKey && selection && next !== null) selection.value = new Set([...selection.peek(), ...(id === null ? [] : [id]), next]);
  } else if (e.key === "a" && (e.ctrlKey || e.metaKey) && selection) selection.value = new Set(ids);
  else if (e.key === "x" && selection && id !== null && !e.ctrlKey) cursor.toggle(ids, id, selection, false);
  else if (e.key === "Escape" && selection && selection.peek().size > 0) selection.value = new Set();
  else if ((e.key === "Enter" || e.key === "o") && id !== null && !isControl && !e.ctrlKey) grid.open(id);
  else if (e.key === " " && id !== null && !isControl) grid.peek(id);
  else return;
  e.preventDefault();
}
