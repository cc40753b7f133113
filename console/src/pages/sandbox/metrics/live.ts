// SPDX-License-Identifier: Apache-2.0
// live.ts: the figures of one sandbox as they come, while the tab is in view. Looking at them neither wakes a sandbox nor counts as use.
import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../../../api/call";
import { Backoff, waitOrWake } from "../../../api/backoff";
import { ApiError } from "../../../api/errors";
import { getV1Stats, type Figures, type SandboxFigures } from "../../../api/generated";
import { streamEvents } from "../../../api/stream";

const HIDDEN_MS = 30_000;
const INTERVAL_MS = 5000;
/** An hour of them. */
const KEPT = 720;

export function useLiveFigures(sandbox: string, isRunning: boolean): readonly SandboxFigures[] {
  const [figures, setFigures] = useState<readonly SandboxFigures[]>([]);
  useEffect(() => {
    if (!isRunning) return;
    let stop = new AbortController();
    let hidden: ReturnType<typeof setTimeout> | undefined;
    const follow = async (signal: AbortSignal): Promise<void> => {
      const backoff = new Backoff();
      const address = addressOf(getV1Stats.path, undefined, { ids: sandbox, stream: "sse", interval_ms: INTERVAL_MS });
      while (!signal.aborted) {
        try {
          for await (const message of streamEvents("GET", address, { signal, onBytes: () => backoff.reset() })) {
            const found = (JSON.parse(message.data) as Partial<Figures>).items?.find((item) => item.sandbox === sandbox);
            if (found) setFigures((old) => [...old.slice(1 - KEPT), found]);
          }
        } catch (thrown) {
          if (signal.aborted || (thrown instanceof ApiError && thrown.status >= 400 && thrown.status < 500)) return;
        }
        await waitOrWake(backoff.nextMs(), signal);
      }
    };
    const onVisible = (): void => {
      clearTimeout(hidden);
      if (document.visibilityState === "hidden") hidden = setTimeout(() => stop.abort(), HIDDEN_MS);
      else if (stop.signal.aborted) {
        stop = new AbortController();
        void follow(stop.signal);
      }
    };
    void follow(stop.signal);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearTimeout(hidden);
      document.removeEventListener("visibilitychange", onVisible);
      stop.abort();
    };
  }, [sandbox, isRunning]);
  return figures;
}
