// SPDX-License-Identifier: Apache-2.0
// figures.ts: what sandboxes use now: one stream for all of them, open while a table shows them and the tab is in view.
import { batch, signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Backoff, waitOrWake } from "../api/backoff";
import { isAbort } from "../api/errors";
import type { SandboxFigures } from "../api/generated";
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
type Sample = Pick<SandboxFigures, "sandbox" | "state" | "sampled_at" | "cpu_usage_us" | "memory_bytes" | "disk_bytes">;

const rows = new Map<string, Signal<Figures | null>>();
const MIB = 1024 * 1024;
/** A tab that is out of view for so long lets the stream go. */
const HIDDEN_MS = 30_000;
const known = (n: number | null | undefined): number | null => (n === null || n === undefined || n < 0 ? null : n);

/** The processor time at the sample before, of each sandbox. */
const before = new Map<string, { at: number; usedUs: number }>();

/** Cores since the sample before; null for the first one, and after a restart of the sandbox. */
function coresOf(sample: Sample): number | null {
  const at = Date.parse(sample.sampled_at ?? "");
  const last = before.get(sample.sandbox);
  if (Number.isNaN(at)) return null;
  before.set(sample.sandbox, { at, usedUs: sample.cpu_usage_us });
  const isUsable = last !== undefined && at > last.at && sample.cpu_usage_us >= last.usedUs;
  if (last !== undefined && at === last.at) return figures.of(sample.sandbox).peek()?.cpu ?? null;
  return isUsable ? (sample.cpu_usage_us - last.usedUs) / 1000 / (at - last.at) : null;
}

function take(sample: Sample): void {
  const memory = known(sample.memory_bytes);
  const disk = known(sample.disk_bytes);
  figures.of(sample.sandbox).value = {
    cpu: coresOf(sample),
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
onProjectChange(() => {
  rows.clear();
  before.clear();
});

function takeMessage(data: string): void {
  const { items } = JSON.parse(data) as { items?: Sample[] };
  batch(() => items?.forEach(take));
}

async function follow(signal: AbortSignal): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    try {
      for await (const message of streamEvents("GET", "/v1/stats?stream=sse", { signal, onBytes: () => backoff.reset() })) takeMessage(message.data);
    } catch (thrown) {
      if (isAbort(thrown)) return;
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
