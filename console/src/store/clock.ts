// SPDX-License-Identifier: Apache-2.0
// clock.ts: two shared timers for relative times: one ticks every second, the other every 30 s.
import { signal, type Signal } from "@preact/signals";
import { serverNow } from "../api/call";

function ticking(ms: number): Signal<number> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const now: Signal<number> = signal(serverNow(), {
    watched() {
      now.value = serverNow();
      timer = setInterval(() => (now.value = serverNow()), ms);
    },
    unwatched() {
      clearInterval(timer);
    },
  });
  return now;
}

/** The server's time in ms, following every second. */
export const everySecond = ticking(1000);
/** The same, following every 30 s. */
export const everyHalfMinute = ticking(30_000);
