// SPDX-License-Identifier: Apache-2.0
// pending.ts: what this tab has asked for and no answer has settled. It stands beside the true state and never replaces it.
import { signal, type Signal } from "@preact/signals";
import { asApiError, type ApiError } from "../api/errors";

export interface Pending {
  /** "stop": shown as "stopping…". */
  action: string;
  error: ApiError | null;
}

const entries = new Map<string, Signal<Pending | null>>();

/** What is pending for an object, as a signal. */
export function pendingOf(id: string): Signal<Pending | null> {
  let entry = entries.get(id);
  if (!entry) {
    entry = signal<Pending | null>(null);
    entries.set(id, entry);
  }
  return entry;
}

/** Runs an action once: a second call while the first is under way does nothing. Returns whether it worked; the error stays beside the
 * object until the next action or dismissPending. */
export async function runPending(id: string, action: string, run: () => Promise<unknown>): Promise<boolean> {
  const entry = pendingOf(id);
  if (entry.peek() && !entry.peek()?.error) return false;
  entry.value = { action, error: null };
  try {
    await run();
    entry.value = null;
    return true;
  } catch (thrown) {
    entry.value = { action, error: asApiError(thrown) };
    return false;
  }
}

export function dismissPending(id: string): void {
  const entry = entries.get(id);
  if (entry) entry.value = null;
}
