// SPDX-License-Identifier: Apache-2.0
// view.ts: which rows a table shows, and in which order. The order rests while it is held (pointer or focus in the table): states change in
// place, and what would move or come is counted until the user asks for it.
import { computed, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

/** Rows by id, each with its signal. A Collection is one; useItems makes one of an array. */
export interface RowSource<T> {
  ids: ReadonlySignal<readonly string[]>;
  row: (id: string) => Signal<T> | undefined;
  /** Grows with every change of any row. */
  revision?: ReadonlySignal<number>;
  /** Grows when nothing shall be held back. */
  reveals?: ReadonlySignal<number>;
}

export type SortKey = string | number | null | undefined;
export interface Order<T> {
  key: (item: T) => SortKey;
  isDown: boolean;
}

const RESORT_MS = 250;

/** Unknown values come last, in both directions; equal ones keep their order by id. */
export function compareKeys(a: SortKey, b: SortKey, isDown: boolean): number {
  const aMissing = a === null || a === undefined || a === "";
  const bMissing = b === null || b === undefined || b === "";
  if (aMissing || bMissing) return aMissing === bMissing ? 0 : aMissing ? 1 : -1;
  const order = a < b ? -1 : a > b ? 1 : 0;
  return isDown ? -order : order;
}

export function arrange<T>(source: RowSource<T>, filter: ((item: T) => boolean) | undefined, order: Order<T> | undefined): string[] {
  const rows: { id: string; key: SortKey }[] = [];
  for (const id of source.ids.peek()) {
    const item = source.row(id)?.peek();
    if (item === undefined || (filter && !filter(item))) continue;
    const key = order?.key(item);
    rows.push({ id, key: typeof key === "string" ? key.toLowerCase() : key });
  }
  if (order) rows.sort((a, b) => compareKeys(a.key, b.key, order.isDown) || (a.id < b.id ? -1 : 1));
  return rows.map((r) => r.id);
}

/** The two lists differ in so many places. */
function countMoves(now: readonly string[], next: readonly string[]): number {
  const at = new Map(now.map((id, i) => [id, i]));
  let moved = 0;
  let last = -1;
  for (const id of next) {
    const i = at.get(id);
    if (i === undefined || i < last) moved += 1;
    else last = i;
  }
  return moved;
}

export class View<T> {
  readonly ids = signal<readonly string[]>([]);
  /** Rows that would move or come if the order were not held. */
  readonly waiting = signal(0);
  /** True while pointer or focus is in the table. */
  readonly isHeld = signal(false);
  private next: string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** A dialog lay over the table when a change came: the change is the user's own, or no pointer is in the table. */
  private wasCovered = false;
  filter: ((item: T) => boolean) | undefined;
  order: Order<T> | undefined;

  constructor(readonly source: RowSource<T>) {}

  /** Follows the source; returns the function that ends it. */
  follow(): () => void {
    let isFirst = true;
    const stop = effect(() => {
      this.source.ids.value;
      this.source.revision?.value;
      if (isFirst || this.ids.peek().length === 0) untracked(() => this.applyNow());
      else {
        this.wasCovered ||= document.querySelector("dialog[open]") !== null;
        this.timer ??= setTimeout(() => this.update(), RESORT_MS);
      }
      isFirst = false;
    });
    const stopReveals = this.source.reveals?.subscribe(() => untracked(() => this.applyNow()));
    return () => {
      stop();
      stopReveals?.();
      clearTimeout(this.timer);
    };
  }

  private update(): void {
    this.timer = undefined;
    this.next = arrange(this.source, this.filter, this.order);
    const moves = this.isHeld.peek() && !this.wasCovered ? countMoves(this.ids.peek(), this.next) : 0;
    this.wasCovered = false;
    if (moves === 0) return this.applyNext();
    // Rows that are gone leave at once: an action on them would fail.
    const left = this.ids.peek().filter((id) => this.source.row(id));
    if (left.length !== this.ids.peek().length) this.ids.value = left;
    this.waiting.value = moves;
  }

  private applyNext(): void {
    const now = this.ids.peek();
    this.waiting.value = 0;
    if (now.length !== this.next.length || now.some((id, i) => id !== this.next[i])) this.ids.value = this.next;
  }

  /** The user asked, or filter or order changed: nothing is held back. */
  applyNow(): void {
    this.next = arrange(this.source, this.filter, this.order);
    this.applyNext();
  }
}

/** `filterKey` and `orderKey` name filter and order: another name arranges anew. */
export function useView<T>(source: RowSource<T>, filter: ((item: T) => boolean) | undefined, filterKey: string, order: Order<T> | undefined, orderKey: string): View<T> {
  const view = useMemo(() => new View(source), [source]);
  view.filter = filter;
  view.order = order;
  const isFirst = useRef(true);
  useEffect(() => view.follow(), [view]);
  useEffect(() => {
    if (!isFirst.current) view.applyNow();
    isFirst.current = false;
  }, [view, filterKey, orderKey]);
  useEffect(() => view.isHeld.subscribe((isHeld) => !isHeld && view.waiting.peek() > 0 && view.applyNow()), [view]);
  return view;
}

/** An array as a source; rows keep their signals by id. */
export function useItems<T>(items: readonly T[], idOf: (item: T) => string): RowSource<T> {
  const state = useMemo(() => {
    const rows = new Map<string, Signal<T>>();
    const ids = signal<readonly string[]>([]);
    const revision = signal(0);
    return { rows, idsSignal: ids, source: { ids: computed(() => ids.value), row: (id: string) => rows.get(id), revision } };
  }, []);
  useMemo(() => {
    const next = items.map(idOf);
    for (const item of items) {
      const row = state.rows.get(idOf(item));
      if (row) row.value = item;
      else state.rows.set(idOf(item), signal(item));
    }
    const keep = new Set(next);
    for (const id of state.rows.keys()) if (!keep.has(id)) state.rows.delete(id);
    const old = state.idsSignal.peek();
    if (old.length !== next.length || old.some((id, i) => id !== next[i])) state.idsSignal.value = next;
    state.source.revision.value += 1;
  }, [items]);
  return state.source;
}
