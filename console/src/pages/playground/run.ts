// SPDX-License-Identifier: Apache-2.0
// run.ts: one run of a cell: its outputs in the order in which they came.
import { signal, type Signal } from "@preact/signals";
import { addressOf, call } from "../../api/call";
import { ApiError, asApiError, isAbort } from "../../api/errors";
import { postApiSandboxInstancesIdCodeContextsContextInterrupt, postApiSandboxInstancesIdProcessesProcessSignal, type CodeResult } from "../../api/generated";
import { streamEvents } from "../../api/stream";

export type Item =
  | { kind: "stdout" | "stderr"; text: string }
  | { kind: "result"; result: CodeResult }
  | { kind: "error"; name: string; value: string; traceback: string };

export interface RunState {
  isRunning: boolean;
  items: readonly Item[];
  /** Characters that were dropped from the front of the output. */
  dropped: number;
  count: number | null;
  exitCode: number | null;
  durationMs: number | null;
  timedOut: boolean;
  contextEnded: boolean;
  error: ApiError | null;
}

const NOTHING: RunState = { isRunning: true, items: [], dropped: 0, count: null, exitCode: null, durationMs: null, timedOut: false, contextEnded: false, error: null };
/** Characters of stdout and stderr that one run keeps. */
const TEXT_MAX = 400_000;
const RESULTS_MAX = 100;

/** An event of /code or /exec. */
interface Told {
  data?: string;
  encoding?: string;
  contextId?: string;
  process?: number;
  execution_count?: number;
  result?: CodeResult;
  name?: string;
  value?: string;
  traceback?: string;
  error?: { code?: string; message?: string; hint?: string };
  exit_code?: number;
  duration_ms?: number;
  timed_out?: boolean;
  context_ended?: boolean;
}

function textOf(told: Told): string {
  if (told.encoding !== "base64") return told.data ?? "";
  return new TextDecoder().decode(Uint8Array.from(atob(told.data ?? ""), (c) => c.charCodeAt(0)));
}

/** Adds text: to the last item when that is of the same stream. Drops from the front what is too much. */
export function addText(state: RunState, kind: "stdout" | "stderr", text: string): Pick<RunState, "items" | "dropped"> {
  const items = [...state.items];
  const last = items.at(-1);
  if (last?.kind === kind) items[items.length - 1] = { kind, text: last.text + text };
  else items.push({ kind, text });
  let excess = items.reduce((sum, i) => sum + ("text" in i ? i.text.length : 0), 0) - TEXT_MAX;
  let dropped = state.dropped;
  for (let i = 0; excess > 0 && i < items.length; i += 1) {
    const item = items[i];
    if (!item || !("text" in item)) continue;
    const cut = Math.min(excess, item.text.length);
    items[i] = { kind: item.kind, text: item.text.slice(cut) };
    excess -= cut;
    dropped += cut;
  }
  return { items: items.filter((i) => !("text" in i) || i.text !== ""), dropped };
}

/** The state after one event; null: the event changes nothing that is seen. */
export function applyEvent(state: RunState, event: string, told: Told): RunState | null {
  if (event === "stdout" || event === "stderr") return { ...state, ...addText(state, event, textOf(told)) };
  if (event === "started") return { ...state, count: told.execution_count ?? null };
  if (event === "result" && told.result) return state.items.length < RESULTS_MAX ? { ...state, items: [...state.items, { kind: "result", result: told.result }] } : null;
  if (event === "error" && told.traceback !== undefined) return { ...state, items: [...state.items, { kind: "error", name: told.name ?? "", value: told.value ?? "", traceback: told.traceback }] };
  if (event === "error") return { ...state, error: new ApiError(500, told.error?.code ?? "error", told.error?.message ?? "", told.error?.hint ?? null) };
  if (event !== "exit") return null;
  return { ...state, isRunning: false, exitCode: told.exit_code ?? null, durationMs: told.duration_ms ?? null, timedOut: told.timed_out === true, contextEnded: told.context_ended === true };
}

export class Run {
  readonly state: Signal<RunState> = signal(NOTHING);
  private readonly stop = new AbortController();
  private context: string | null = null;
  private process: number | null = null;

  constructor(
    private readonly sandbox: string,
    private readonly language: string,
    private readonly text: string,
  ) {}

  /** Runs to the end; errors are in the state. `broken` is said when the answer ends early. */
  async go(broken: string): Promise<void> {
    const isShell = this.language === "shell";
    const path = isShell ? "/api/sandbox/instances/{id}/exec" : "/api/sandbox/instances/{id}/code";
    const body = isShell ? { command: this.text, end_on_disconnect: true } : { language: this.language, code: this.text, contextId: "default" };
    try {
      for await (const m of streamEvents("POST", addressOf(path, { id: this.sandbox }, { stream: "sse" }), { body, signal: this.stop.signal })) this.take(m.event, m.data);
      if (this.state.peek().isRunning) this.fail(new ApiError(502, "connection", broken));
    } catch (thrown) {
      if (isAbort(thrown)) this.state.value = { ...this.state.peek(), isRunning: false };
      else this.fail(asApiError(thrown));
    }
  }

  private take(event: string, data: string): void {
    const told = JSON.parse(data) as Told;
    if (event === "started") {
      this.context = told.contextId ?? null;
      this.process = told.process ?? null;
    }
    const next = applyEvent(this.state.peek(), event, told);
    if (next) this.state.value = next;
  }

  private fail(error: ApiError): void {
    this.state.value = { ...this.state.peek(), isRunning: false, error };
  }

  /** Interrupts as Ctrl-C does. */
  async interrupt(): Promise<void> {
    const id = this.sandbox;
    if (this.context) await call(postApiSandboxInstancesIdCodeContextsContextInterrupt, { path: { id, context: this.context } });
    else if (this.process !== null) await call(postApiSandboxInstancesIdProcessesProcessSignal, { path: { id, process: String(this.process) }, body: { signal: "SIGINT", tree: true } });
    else this.stop.abort();
  }

  leave(): void {
    this.stop.abort();
  }
}
