// SPDX-License-Identifier: Apache-2.0
// rows.ts: the calls into a sandbox: the newest at first, older ones on request, new ones as they end.
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { addressOf, fetchRaw } from "../../../api/call";
import { Backoff, waitOrWake } from "../../../api/backoff";
import { asApiError, isAbort, type ApiError } from "../../../api/errors";
import { streamEvents } from "../../../api/stream";

export interface ActivityRow {
  sequence: number;
  at: string | null;
  sandbox: string | null;
  kind: string;
  operation: string;
  arguments: string;
  user: string | null;
  key: string | null;
  conversation: string | null;
  ok: boolean;
  outcome: string;
  exit_code: number;
  error: string | null;
  duration_ms: number;
  output_bytes: number;
  head: string;
  tail: string;
  encoding: string | null;
  artifacts: { id: string; path: string }[];
}
interface Page {
  items: ActivityRow[];
  after: number;
  oldest: number;
}

const FIRST = 200;
/** Rows that a tab keeps; older ones leave. */
const KEPT = 5000;

export const activityPath = (id: string): string => `/api/sandbox/instances/${encodeURIComponent(id)}/activity`;

function createRows(sandbox: string, kind: string) {
  const rows = signal<readonly ActivityRow[]>([]);
  const status = signal<"loading" | "ready" | "failed">("loading");
  const error = signal<ApiError | null>(null);
  const isLive = signal(false);
  const abort = new AbortController();
  let after = 0;
  const path = activityPath(sandbox);
  const add = (found: readonly ActivityRow[]): void => {
    const known = new Set(rows.peek().map((r) => r.sequence));
    const fresh = found.filter((r) => !known.has(r.sequence)).reverse();
    if (fresh.length) rows.value = [...fresh, ...rows.peek()].slice(0, KEPT);
    for (const row of found) after = Math.max(after, row.sequence);
  };
  const load = async (): Promise<void> => {
    error.value = null;
    const answer = await fetchRaw("GET", addressOf(path, {}, { kind, last: FIRST }), { signal: abort.signal });
    const page = (await answer.json()) as Page;
    add(page.items);
    after = Math.max(after, page.after);
    status.value = "ready";
  };
  const follow = async (): Promise<void> => {
    const backoff = new Backoff();
    while (!abort.signal.aborted) {
      try {
        const address = addressOf(path, {}, { kind, after, stream: "sse" });
        const onBytes = (): void => (backoff.reset(), void (isLive.value = true));
        for await (const message of streamEvents("GET", address, { signal: abort.signal, onBytes })) {
          const row = parseRow(message.data);
          if (row) add([row]);
        }
      } catch (thrown) {
        if (isAbort(thrown)) return;
      }
      isLive.value = false;
      await waitOrWake(backoff.nextMs(), abort.signal).catch(() => undefined);
    }
  };
  const start = (): void => {
    status.value = "loading";
    load().then(follow, (thrown: unknown) => {
      if (isAbort(thrown)) return;
      error.value = asApiError(thrown);
      status.value = "failed";
    });
  };
  return { rows, status, error, isLive, start, stop: () => abort.abort() };
}

function parseRow(data: string): ActivityRow | null {
  try {
    const row = JSON.parse(data) as ActivityRow;
    return typeof row.sequence === "number" && typeof row.kind === "string" ? row : null;
  } catch {
    return null;
  }
}

export function useActivity(sandbox: string, kind: string): ReturnType<typeof createRows> {
  const rows = useMemo(() => createRows(sandbox, kind), [sandbox, kind]);
  useEffect(() => {
    rows.start();
    return rows.stop;
  }, [rows]);
  return rows;
}
