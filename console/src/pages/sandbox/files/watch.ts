// SPDX-License-Identifier: Apache-2.0
// watch.ts: tells of changes in a folder while the tab is in view.
import { useEffect, useRef } from "preact/hooks";
import { addressOf } from "../../../api/call";
import { Backoff, waitOrWake } from "../../../api/backoff";
import { ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdFilesWatch } from "../../../api/generated";
import { streamEvents } from "../../../api/stream";

const HIDDEN_MS = 30_000;
const SOON_MS = 250;

/** One call of `onChange` for changes that come together; also after the watch was away, when some may have been missed. */
export function useWatch(sandbox: string, folder: string | null, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (folder === null) return;
    let stop = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    let hidden: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      soon ??= setTimeout(() => {
        soon = undefined;
        latest.current();
      }, SOON_MS);
    };
    const follow = async (signal: AbortSignal, isAgain: boolean): Promise<void> => {
      const backoff = new Backoff();
      const address = addressOf(getApiSandboxInstancesIdFilesWatch.path, { id: sandbox }, { path: folder, stream: "sse" });
      for (let again = isAgain; !signal.aborted; again = true) {
        try {
          for await (const message of streamEvents("GET", address, { signal })) {
            backoff.reset();
            if (message.event !== "ready" || again) tell();
          }
        } catch (thrown) {
          // A refusal, as of a sandbox that has stopped, does not go away by itself.
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
        void follow(stop.signal, true);
      }
    };
    void follow(stop.signal, false);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearTimeout(soon);
      clearTimeout(hidden);
      document.removeEventListener("visibilitychange", onVisible);
      stop.abort();
    };
  }, [sandbox, folder]);
}
