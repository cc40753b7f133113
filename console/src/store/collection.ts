// SPDX-License-Identifier: Apache-2.0
// collection.ts: the rows of one kind, one signal for each row, so that a change of one row renders one row. A read counts only where no
// newer event came for that row since the read began.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { asApiError, isAbort, type ApiError } from "../api/errors";
import { onEvent, onLost, type LiveEvent } from "../api/events";
import { onProjectChange } from "./session";

export interface Page<T> {
  items: T[];
  next_page?: string | null;
  total?: number;
}
export interface CollectionOptions<T> {
  /** One page of the list. */
  list: (page: string | undefined, signal: AbortSignal) => Promise<Page<T>>;
  id: (item: T) => string;
  /** The version of a row, where rows have one: an older row never replaces a newer one. */
  version?: (item: T) => number;
  /** Kinds of events that say that the list changed. */
  kinds?: readonly string[];
  /** Applies an event without a read; false: the whole list is read again. */
  apply?: (event: LiveEvent, collection: Collection<T>) => boolean;
}
export type Status = "idle" | "loading" | "ready" | "failed";

// A burst of events leads to one read.
const RELOAD_MS = 300;

export class Collection<T> {
  private readonly rows = new Map<string, Signal<T>>();
  private readonly touched = new Map<string, number>();
  private readonly idsSignal = signal<readonly string[]>([]);
  private loading: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private changes = 0;
  /** Grows with every change of any row; for orders and filters over all rows. */
  readonly revision = signal(0);
  readonly status = signal<Status>("idle");
  readonly error = signal<ApiError | null>(null);
  /** Grows when the user made a row: tables show it at once, also where they hold others back. */
  readonly reveals = signal(0);
  /** Number of rows that the server has, known after the first page. */
  readonly total = signal<number | null>(null);
  readonly ids: ReadonlySignal<readonly string[]> = computed(() => this.idsSignal.value);

  constructor(private readonly options: CollectionOptions<T>) {
    onProjectChange(() => this.clear());
    onLost(() => this.status.peek() !== "idle" && void this.load());
    if (options.kinds) onEvent(options.kinds, (event) => this.onKind(event));
  }

  private onKind(event: LiveEvent): void {
    if (this.status.peek() === "idle") return;
    if (!this.options.apply?.(event, this)) this.loadSoon();
  }

  /** The row as a signal: reading its value in a component follows it. */
  row(id: string): Signal<T> | undefined {
    return this.rows.get(id);
  }

  get(id: string): T | undefined {
    this.idsSignal.value; // Rows that come or go are followed, too.
    return this.rows.get(id)?.value;
  }

  peek(id: string): T | undefined {
    return this.rows.get(id)?.peek();
  }

  /** All rows; follows every one of them, so use it for short lists only. */
  get items(): T[] {
    return this.ids.value.map((id) => this.rows.get(id)?.value).filter((item) => item !== undefined);
  }

  /** Adds or replaces a row. */
  put(item: T): void {
    const id = this.options.id(item);
    this.touched.set(id, ++this.changes);
    this.store(id, item);
    this.revision.value += 1;
  }

  /** Adds a row that the user of this tab has made. */
  reveal(item: T): void {
    this.put(item);
    this.reveals.value += 1;
  }

  /** Changes members of a row that is there. */
  patch(id: string, change: Partial<T>): void {
    const row = this.rows.get(id);
    if (!row) return;
    this.touched.set(id, ++this.changes);
    row.value = { ...row.peek(), ...change };
    this.revision.value += 1;
  }

  remove(id: string): void {
    this.touched.set(id, ++this.changes);
    if (!this.rows.delete(id)) return;
    this.idsSignal.value = this.idsSignal.peek().filter((other) => other !== id);
  }

  private isOlder(item: T, row: Signal<T>): boolean {
    const { version } = this.options;
    return version !== undefined && version(item) < version(row.peek());
  }

  private store(id: string, item: T): void {
    const row = this.rows.get(id);
    if (row) {
      if (!this.isOlder(item, row)) row.value = item;
      return;
    }
    this.rows.set(id, signal(item));
    this.idsSignal.value = [...this.idsSignal.peek(), id];
  }

  /** Loads once; further calls do nothing. */
  ensure(): void {
    if (this.status.peek() === "idle") void this.load();
  }

  loadSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.load();
    }, RELOAD_MS);
  }

  /** Reads all pages. Rows stay visible meanwhile; those that are gone leave at the end. */
  async load(): Promise<void> {
    this.loading?.abort();
    const abort = new AbortController();
    this.loading = abort;
    if (this.status.peek() !== "ready") this.status.value = "loading";
    const begun = this.changes;
    try {
      const seen = await this.readPages(abort.signal, begun);
      batch(() => {
        this.dropUnseen(seen, begun);
        this.status.value = "ready";
        this.error.value = null;
      });
    } catch (thrown) {
      if (isAbort(thrown)) return;
      batch(() => {
        this.error.value = asApiError(thrown);
        this.status.value = "failed";
      });
    } finally {
      if (this.loading === abort) this.loading = null;
    }
  }

  private async readPages(signal: AbortSignal, begun: number): Promise<Set<string>> {
    const seen = new Set<string>();
    let next: string | null | undefined;
    do {
      const page = await this.options.list(next ?? undefined, signal);
      signal.throwIfAborted();
      batch(() => {
        this.total.value = page.total ?? null;
        this.addPage(page.items, seen, begun);
      });
      next = page.next_page;
    } while (next);
    return seen;
  }

  private addPage(items: T[], seen: Set<string>, begun: number): void {
    const added: string[] = [];
    for (const item of items) {
      const id = this.options.id(item);
      seen.add(id);
      if ((this.touched.get(id) ?? 0) > begun) continue;
      const row = this.rows.get(id);
      if (row) {
        if (!this.isOlder(item, row) && !isSame(row.peek(), item)) row.value = item;
      } else {
        this.rows.set(id, signal(item));
        added.push(id);
      }
    }
    if (added.length) this.idsSignal.value = [...this.idsSignal.peek(), ...added];
    this.revision.value += 1;
  }

  private dropUnseen(seen: Set<string>, begun: number): void {
    const kept = this.idsSignal.peek().filter((id) => seen.has(id) || (this.touched.get(id) ?? 0) > begun);
    if (kept.length === this.idsSignal.peek().length) return;
    const keep = new Set(kept);
    for (const id of this.rows.keys()) if (!keep.has(id)) this.rows.delete(id);
    this.idsSignal.value = kept;
  }

  clear(): void {
    this.loading?.abort();
    clearTimeout(this.timer);
    this.timer = undefined;
    batch(() => {
      this.rows.clear();
      this.touched.clear();
      this.idsSignal.value = [];
      this.status.value = "idle";
      this.error.value = null;
      this.total.value = null;
    });
  }
}

/** Equal as JSON: an unchanged row renders nothing. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
