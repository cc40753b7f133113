// SPDX-License-Identifier: Apache-2.0
// toasts.ts: short messages that have no place of their own any more. Errors stay until they are closed.
import { signal } from "@preact/signals";
import type { ApiError } from "../api/errors";

export interface Toast {
  id: number;
  kind: "done" | "error";
  text: string;
  hint?: string | null;
  requestId?: string | null;
  /** The word of a button, such as "Undo", and what it does. */
  action?: { label: string; run: () => void };
}

const DONE_MS = 4000;
const UNDO_MS = 8000;
const TOASTS_MAX = 3;
let newest = 0;
export const toasts = signal<readonly Toast[]>([]);

export function closeToast(id: number): void {
  toasts.value = toasts.peek().filter((t) => t.id !== id);
}

export function showToast(toast: Omit<Toast, "id">): void {
  const id = ++newest;
  toasts.value = [...toasts.peek(), { ...toast, id }].slice(-TOASTS_MAX);
  if (toast.kind === "done") setTimeout(() => closeToast(id), toast.action ? UNDO_MS : DONE_MS);
}

export function toastError(error: ApiError, what?: string): void {
  showToast({ kind: "error", text: what ? `${what}: ${error.message}` : error.message, hint: error.hint, requestId: error.requestId });
}

/** The action of the newest toast that has one; the key "u" runs it. */
export function undoNewest(): boolean {
  const toast = toasts.peek().findLast((t) => t.action);
  if (!toast?.action) return false;
  closeToast(toast.id);
  toast.action.run();
  return true;
}
