// SPDX-License-Identifier: Apache-2.0
// ports.ts: the ports that listen inside a sandbox. While a page shows them, one request waits at the server for the next change.
import { useEffect } from "preact/hooks";
import { Backoff, waitOrWake } from "../api/backoff";
import { call } from "../api/call";
import { ApiError } from "../api/errors";
import { getApiSandboxInstancesIdPorts, type ListeningPortList } from "../api/generated";
import { useResource, type Resource } from "./resource";

const read = (id: string, signal: AbortSignal, changed_from?: string): Promise<ListeningPortList> =>
  call(getApiSandboxInstancesIdPorts, { path: { id }, query: changed_from ? { changed_from } : {}, signal });

/** A sandbox that has stopped, or access that was lost, does not come back by asking again. */
const isFinal = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.status >= 400 && thrown.status < 500 && thrown.status !== 429;

async function follow(id: string, ports: Resource<ListeningPortList>, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    try {
      const answer = await read(id, signal, ports.data.peek()?.version);
      if (signal.aborted) return;
      backoff.reset();
      if (answer.version !== ports.data.peek()?.version) ports.data.value = answer;
      ports.error.value = null;
    } catch (thrown) {
      if (signal.aborted || isFinal(thrown)) return;
      await waitOrWake(backoff.nextMs(), signal);
    }
  }
}

export function usePorts(id: string): Resource<ListeningPortList> {
  const ports = useResource(`ports ${id}`, (signal) => read(id, signal), { kinds: ["sandbox.*", "preview.*"], sandbox: id });
  const isLoaded = ports.data.value !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    let stop = new AbortController();
    // A hidden page holds no connection.
    const onVisible = (): void => {
      stop.abort();
      if (document.visibilityState === "hidden") return;
      stop = new AbortController();
      void follow(id, ports, stop.signal);
    };
    onVisible();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      stop.abort();
    };
  }, [id, ports, isLoaded]);
  return ports;
}
