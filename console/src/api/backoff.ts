// SPDX-License-Identifier: Apache-2.0
// backoff.ts: how long to wait before the next try: 0.5, 1, 2, 4, 8, 15 s, with jitter so that many tabs do not come at once.

export class Backoff {
  private tries = 0;

  nextMs(random: () => number = Math.random): number {
    const base = Math.min(15000, 500 * 2 ** this.tries);
    this.tries += 1;
    return Math.round(base * (0.75 + random() * 0.5));
  }

  reset(): void {
    this.tries = 0;
  }
}

/** Resolves after `ms`, or at once when the network or the tab comes back, or when `signal` aborts. */
export function waitOrWake(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      if (document.visibilityState !== "hidden" || signal.aborted) done();
    };
    const timer = setTimeout(() => done(), ms);
    function done(): void {
      clearTimeout(timer);
      removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      signal.removeEventListener("abort", done);
      resolve();
    }
    addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
