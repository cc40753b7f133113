// SPDX-License-Identifier: Apache-2.0
// build_log.ts: the log of a build as it comes, and the steps that it tells of. Reading goes on after a broken connection.
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Backoff, waitOrWake } from "../../api/backoff";
import { addressOf } from "../../api/call";
import { asApiError, isAbort, type ApiError } from "../../api/errors";
import { getApiSandboxTemplatesBuildsBuildLogs } from "../../api/generated";
import { streamEvents } from "../../api/stream";
import { LogLines } from "../../parts/log_lines";

export interface LogEntry {
  line: number;
  at: string | null;
  step: number;
  level: string;
  stream: string;
  text: string;
}
export interface Step {
  number: number;
  /** The first line of the step, which names it. */
  text: string;
  firstLine: number;
  lines: number;
  begun: number | null;
  last: number | null;
  hasError: boolean;
}

function createLog(build: string) {
  const lines = new LogLines();
  const steps = signal<readonly Step[]>([]);
  const error = signal<ApiError | null>(null);
  const isDone = signal(false);
  const abort = new AbortController();
  let next = 0;
  const take = (entry: LogEntry): void => {
    next += 1;
    lines.appendLine(entry.text.replace(/\r?\n$/, ""));
    const at = entry.at ? Date.parse(entry.at) : null;
    const last = steps.peek().at(-1);
    const isError = entry.level === "error";
    if (last && last.number === entry.step) steps.value = [...steps.peek().slice(0, -1), { ...last, lines: last.lines + 1, last: at, hasError: last.hasError || isError }];
    else steps.value = [...steps.peek(), { number: entry.step, text: entry.text, firstLine: next - 1, lines: 1, begun: at, last: at, hasError: isError }];
  };
  const read = async (): Promise<void> => {
    const backoff = new Backoff();
    while (!abort.signal.aborted && !isDone.peek()) {
      try {
        const address = addressOf(getApiSandboxTemplatesBuildsBuildLogs.path, { build }, { since: next, stream: "sse" });
        for await (const message of streamEvents("GET", address, { signal: abort.signal, onBytes: () => backoff.reset() })) {
          const entry = parseEntry(message.data);
          if (entry) take(entry);
        }
        error.value = null;
        isDone.value = true; // The server ends the stream when the build has ended.
      } catch (thrown) {
        if (isAbort(thrown)) return;
        error.value = asApiError(thrown);
        if (error.peek()?.status === 404 || error.peek()?.status === 403) return;
        await waitOrWake(backoff.nextMs(), abort.signal).catch(() => undefined);
      }
    }
  };
  return { lines, steps, error, isDone, start: () => void read(), stop: () => abort.abort() };
}

function parseEntry(data: string): LogEntry | null {
  try {
    const entry = JSON.parse(data) as LogEntry;
    return typeof entry.text === "string" ? entry : null;
  } catch {
    return null;
  }
}

export function useBuildLog(build: string): ReturnType<typeof createLog> {
  const log = useMemo(() => createLog(build), [build]);
  useEffect(() => {
    log.start();
    return log.stop;
  }, [log]);
  return log;
}
