// SPDX-License-Identifier: Apache-2.0
// resource.ts: one answer that a page shows, with loading, failure, reading again on events, and cleaning up with the page.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { asApiError, isAbort, type ApiError } from "../api/errors";
import { onEvent, onLost } from "../api/events";

export interface Resource<T> {
  data: Signal<T | undefined>;
  error: Signal<ApiError | null>;
  isLoading: Signal<boolean>;
  reload: () => void;
}
export interface ResourceOptions {
  /** Kinds of events after which the answer is read again. */
  kinds?: readonly string[];
  /** Only events of this sandbox count. */
  sandbox?: string;
  /** How long events are collected before a read; 200. */
  quietMs?: number;
  /** Read again when the tab comes back into view, at most every 10 s: for answers that no event announces. */
  onFocus?: boolean;
}

const FOCUS_MS = 10_000;
const RELOAD_MS = 200;

function createResource<T>(read: (signal: AbortSignal) => Promise<T>): Resource<T> & { stop: () => void; at: () => number } {
  const data = signal<T | undefined>(undefined);
  const error = signal<ApiError | null>(null);
  const isLoading = signal(false);
  let abort: AbortController | null = null;
  let loadedAt = 0;
  const reload = (): void => {
    abort?.abort();
    const mine = new AbortController();
    abort = mine;
    isLoading.value = true;
    read(mine.signal)
      .then((answer) => {
        if (mine.signal.aborted) return;
        data.value = answer;
        error.value = null;
        isLoading.value = false;
        loadedAt = Date.now();
      })
      .catch((thrown: unknown) => {
        if (isAbort(thrown) || mine.signal.aborted) return;
        error.value = asApiError(thrown);
        isLoading.value = false;
      });
  };
  return { data, error, isLoading, reload, stop: () => abort?.abort(), at: () => loadedAt };
}

/** `key` names what is read: another key reads anew. */
export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>, options: ResourceOptions = {}): Resource<T> {
  const resource = useMemo(() => createResource(read), [key]);
  useEffect(() => {
    resource.reload();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A burst of events leads to one read, and an endless one to a read now and then.
    const soon = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        resource.reload();
      }, options.quietMs ?? RELOAD_MS);
    };
    const stops = [onLost(resource.reload)];
    if (options.kinds) {
      stops.push(onEvent(options.kinds, (e) => (!options.sandbox || e.sandbox === options.sandbox) && soon()));
    }
    const onShow = (): void => {
      if (document.visibilityState === "visible" && Date.now() - resource.at() > FOCUS_MS) resource.reload();
    };
    if (options.onFocus) document.addEventListener("visibilitychange", onShow);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onShow);
      for (const stop of stops) stop();
      resource.stop();
    };
  }, [resource]);
  return resource;
}
