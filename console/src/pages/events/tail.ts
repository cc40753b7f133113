// SPDX-License-Identifier: Apache-2.0
// tail.ts: the newest events of the project, and those that come. While the tail is paused, new events wait.
import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError, isAbort, type ApiError } from "../../api/errors";
import { onEvent, onLost, streamStart } from "../../api/events";
import { getV1Events, type Event } from "../../api/generated";
import type { RowSource } from "../../parts/view";

const FIRST = 500;
/** Events kept in memory; the oldest leave. */
const MOST = 5000;
const TYPING_MS = 250;

/** "sandbox.*" takes all kinds of the subject; "" takes all. */
export function takesKind(filter: string, kind: string): boolean {
  return filter === "" || filter === kind || (filter.endsWith("*") && kind.startsWith(filter.slice(0, -1)));
}

export class Tail {
  private rows = new Map<string, Signal<Event>>();
  private held: Event[] = [];
  private readonly ids = signal<readonly string[]>([]);
  private abort: AbortController | null = null;
  /** The newest event of an answer that was read before the stream's start was known. */
  private readonly early = signal<number | null>(null);
  readonly isPaused = signal(false);
  readonly waiting = signal(0);
  readonly isLoading = signal(true);
  readonly error = signal<ApiError | null>(null);
  readonly source: RowSource<Event> = { ids: computed(() => this.ids.value) as ReadonlySignal<readonly string[]>, row: (id) => this.rows.get(id) };

  constructor(
    private readonly kind: string,
    private readonly sandbox: string,
  ) {}

  /** Follows the events; returns the function that ends it. */
  follow(): () => void {
    const timer = setTimeout(this.load, this.kind || this.sandbox ? TYPING_MS : 0);
    const stops = [onEvent(["*"], (e) => this.take(e)), onLost(this.load), effect(this.fillGap)];
    return () => {
      clearTimeout(timer);
      this.abort?.abort();
      for (const stop of stops) stop();
    };
  }

  /** Events between the first answer and the start of the stream are in neither. */
  private readonly fillGap = (): void => {
    if (this.early.value !== null && streamStart.value > this.early.value) this.load();
  };

  readonly load = (): void => {
    const isEarly = streamStart.peek() === 0;
    this.abort?.abort();
    const mine = new AbortController();
    this.abort = mine;
    call(getV1Events, { query: { last: FIRST, kind: this.kind || undefined, sandbox: this.sandbox || undefined }, signal: mine.signal })
      .then((answer) => batch(() => {
        this.add(answer.items);
        this.early.value = isEarly ? answer.after : null;
        this.error.value = null;
        this.isLoading.value = false;
      }))
      .catch((thrown: unknown) => {
        if (isAbort(thrown)) return;
        this.error.value = asApiError(thrown);
        this.isLoading.value = false;
      });
  };

  private take(event: Event): void {
    if (!takesKind(this.kind, event.kind) || (this.sandbox && event.sandbox !== this.sandbox)) return;
    if (!this.isPaused.peek()) return this.add([event]);
    this.held.push(event);
    if (this.held.length > MOST) this.held.shift();
    this.waiting.value = this.held.length;
  }

  private add(events: readonly Event[]): void {
    for (const event of events) {
      if (!this.rows.has(String(event.sequence))) this.rows.set(String(event.sequence), signal(event));
    }
    let ids = [...this.rows.keys()];
    if (ids.length > MOST) {
      ids.sort((a, b) => Number(a) - Number(b));
      for (const id of ids.slice(0, ids.length - MOST)) this.rows.delete(id);
      ids = ids.slice(-MOST);
    }
    this.ids.value = ids;
  }

  pause(isPaused: boolean): void {
    this.isPaused.value = isPaused;
    if (isPaused) return;
    this.add(this.held);
    this.held = [];
    this.waiting.value = 0;
  }

  items(): Event[] {
    return [...this.rows.values()].map((row) => row.peek()).sort((a, b) => b.sequence - a.sequence);
  }

  /** The kinds seen so far, for the field's proposals. */
  kinds(): string[] {
    return [...new Set([...this.rows.values()].map((row) => row.peek().kind))].sort();
  }
}

export function useTail(kind: string, sandbox: string): Tail {
  const tail = useMemo(() => new Tail(kind, sandbox), [kind, sandbox]);
  useEffect(() => tail.follow(), [tail]);
  return tail;
}
