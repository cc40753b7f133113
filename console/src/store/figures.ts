// SPDX-License-Identifier: Apache-2.0
// figures.ts: what sandboxes use now: one stream for all of them, open while a table shows them and the tab is in view.
import { signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Backoff, waitOrWake } from "../api/backoff";
import { ApiError } from "../api/errors";
import { streamEvents } from "../api/stream";
import { onProjectChange } from "./session";

export interface Figures {
  /** Cores. */
  cpu: number | null;
  /** MiB. */
  memory: number | null;
  /** MiB. */
  disk: number | null;
}
interface Sample {
  sandbox: string;
  cpu_cores?: number | null;
  cpu_percent?: number | null;
  memory_bytes?: number | null;
  disk_bytes?: number | null;
}

const rows = new Map<string, Signal<Figures | null>>();
const MIB = 1024 * 1024;
/** A tab that is out of view for so long lets the stream go. */
const HIDDEN_MS = 30_000;
const known = (n: number | null | undefined): number | null => (n === null || n === undefined || n < 0 ? null : n);

function take(sample: Sample): void {
  const percent = known(sample.cpu_percent);
  const memory = known(sample.memory_bytes);
  const disk = known(sample.disk_bytes);
  figures.of(sample.sandbox).value = {
    cpu: known(sample.cpu_cores) ?? (percent === null ? null : percent / 100),
    memory: memory === null ? null : memory / MIB,
    disk: disk === null ? null : disk / MIB,
  };
}

export const figures = {
  of(id: string): Signal<Figures | null> {
    let row = rows.get(id);
    if (!row) {
      row = signal<Figures | null>(null);
      rows.set(id, row);
    }
    return row;
  },
};
onProjectChange(() => rows.clear());

function takeMessage(data: string): void {
  const parsed = JSON.parse(data) as Sample | Sample[] | { items: Sample[] };
  const samples = Array.isArray(parsed) ? parsed : "items" in parsed ? parsed.items : [parsed];
  for (const sample of samples) take(sample);
}

async function follow(signal: AbortSignal): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    try {
      for await (const message of streamEvents("GET", "/v1/stats?stream=sse", { signal, onBytes: () => backoff.reset() })) takeMessage(message.data);
    } catch (thrown) {
      if (signal.aborted || (thrown instanceof ApiError && thrown.status === 404)) return;
    }
    await waitOrWake(backoff.nextMs(), signal);
  }
}

/** Keeps the figures live while the component is mounted. */
export function useFigures(): void {
  useEffect(() => {
    let stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void follow(stop.signal);
    const onVisible = (): void => {
      clearTimeout(timer);
      if (document.visibilityState === "hidden") timer = setTimeout(() => stop.abort(), HIDDEN_MS);
      else if (stop.signal.aborted) {
        stop = new AbortController();
        void follow(stop.signal);
      }
    };
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
      stop.abort();
    };
  }, []);
}
