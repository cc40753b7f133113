// SPDX-License-Identifier: Apache-2.0
// tray.ts: long work (builds, backups, uploads, bulk actions), which goes on while the page changes.
import { signal, type Signal } from "@preact/signals";
import { asApiError, isAbort, type ApiError } from "../api/errors";

export interface TrayItem {
  id: number;
  title: string;
  /** An address inside the console, without project: "templates/base". */
  link?: string;
  done: number;
  /** 0: not known. */
  total: number;
  failed: number;
  state: "running" | "done" | "failed" | "cancelled";
  text: string;
  error: ApiError | null;
  /** Ends the work; absent: it cannot be ended from here. */
  cancel?: () => void;
  /** Tries again what failed. */
  retry?: () => void;
}

export const tray = signal<readonly Signal<TrayItem>[]>([]);
let newest = 0;

export type TrayUpdate = Partial<Omit<TrayItem, "id">>;

export function addTrayItem(item: Pick<TrayItem, "title"> & TrayUpdate): { update: (change: TrayUpdate) => void; remove: () => void } {
  const row = signal<TrayItem>({ done: 0, total: 0, failed: 0, state: "running", text: "", error: null, ...item, id: ++newest });
  tray.value = [...tray.peek(), row];
  return {
    update: (change) => (row.value = { ...row.peek(), ...change }),
    remove: () => (tray.value = tray.peek().filter((other) => other !== row)),
  };
}

export function removeTrayItem(id: number): void {
  tray.value = tray.peek().filter((row) => row.peek().id !== id);
}

export function hasRunningWork(): boolean {
  return tray.peek().some((row) => row.peek().state === "running" && row.peek().cancel !== undefined);
}

const AT_ONCE = 6;

/** Runs `each` for all ids, six at once, with progress in the tray; failed ones can be tried again. */
export function runBulk(title: string, ids: readonly string[], each: (id: string, signal: AbortSignal) => Promise<unknown>): Promise<string[]> {
  const abort = new AbortController();
  const item = addTrayItem({ title, total: ids.length, cancel: () => abort.abort() });
  return runQueue(ids, each, abort, item);
}

async function runQueue(
  ids: readonly string[],
  each: (id: string, signal: AbortSignal) => Promise<unknown>,
  abort: AbortController,
  item: ReturnType<typeof addTrayItem>,
): Promise<string[]> {
  const waiting = [...ids];
  const failed: string[] = [];
  let done = 0;
  let error: ApiError | null = null;
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined && !abort.signal.aborted; id = waiting.shift()) {
      try {
        await each(id, abort.signal);
      } catch (thrown) {
        if (isAbort(thrown)) return;
        failed.push(id);
        error = asApiError(thrown);
      }
      item.update({ done: ++done, failed: failed.length });
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, work));
  const again = (): void => {
    const next = new AbortController();
    item.update({ state: "running", done: 0, total: failed.length, failed: 0, error: null, retry: undefined, cancel: () => next.abort() });
    void runQueue([...failed], each, next, item);
  };
  const state = abort.signal.aborted ? "cancelled" : failed.length ? "failed" : "done";
  item.update({ state, error, cancel: undefined, retry: failed.length ? again : undefined });
  return failed;
}
