// SPDX-License-Identifier: Apache-2.0
// session.ts: one window, as this browser is attached to it: connection, place in the output, who types. After a break, and after the tab
// was hidden, it goes on at the byte where it was.
import { signal } from "@preact/signals";
import { call } from "../../../api/call";
import type { ApiError } from "../../../api/errors";
import { postApiSandboxInstancesIdTerminal } from "../../../api/generated";
import { LiveSocket } from "../../../api/socket";
import type { TerminalHandle } from "../../../lazy/terminal";
import { sandboxTerminal as t } from "../../../text/en";

/** A tab that is out of view for so long lets its window go: an open window keeps the sandbox awake. */
const HIDDEN_MS = 60_000;
const TYPES_MS = 3000;
/** What is not parsed yet beyond this lets the server wait. */
const UNPARSED_MAX = 1024 * 1024;

export type SessionState = "connecting" | "open" | "waiting" | "closed" | "hidden";

export interface SessionOptions {
  sandbox: string;
  process: number;
  /** Bytes that the window has written before: answers of the terminal to what they ask are not sent again. */
  outputEnd: number;
  isReadOnly: boolean;
  onPeople: () => void;
  onEnd: () => void;
}

export class WindowSession {
  readonly state = signal<SessionState>("connecting");
  readonly error = signal<ApiError | null>(null);
  /** The number of this viewer, and whether it may type. */
  readonly viewer = signal<number | null>(null);
  readonly mayType = signal(false);
  readonly typing = signal<string | null>(null);
  readonly takenOverBy = signal<string | null>(null);
  readonly exitCode = signal<number | null | undefined>(undefined);
  private socket: LiveSocket | null = null;
  private handle: TerminalHandle | null = null;
  /** Offset in the window's output after what was shown. */
  private offset = 0;
  private unparsed = 0;
  private typingTimer: ReturnType<typeof setTimeout> | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: SessionOptions) {
    document.addEventListener("visibilitychange", this.onVisible);
  }

  attach(handle: TerminalHandle): void {
    this.handle = handle;
    this.connect();
  }

  connect(): void {
    if (!this.handle || this.exitCode.peek() !== undefined) return;
    this.socket?.close();
    this.socket = new LiveSocket({
      path: () => this.path(),
      onBytes: (bytes) => this.show(bytes),
      onMessage: (message) => this.take(message),
      onState: (state, error) => {
        if (this.exitCode.peek() !== undefined) return;
        this.state.value = state;
        this.error.value = error;
        if (state !== "open") this.mayType.value = false;
      },
    });
  }

  private async path(): Promise<string> {
    const { sandbox, process, isReadOnly } = this.options;
    const answer = await call(postApiSandboxInstancesIdTerminal, { path: { id: sandbox }, body: { session: `${sandbox}.${process}` } });
    return `${answer.path}&since=${this.offset}${isReadOnly ? "&read_only=true" : ""}`;
  }

  private show(bytes: Uint8Array): void {
    this.offset += bytes.byteLength;
    this.unparsed += bytes.byteLength;
    void this.handle?.write(bytes).then(() => {
      this.unparsed -= bytes.byteLength;
    });
  }

  /** Sends what is typed, unless the terminal only answers to output that it has seen in an earlier life. */
  type(data: string): void {
    const isOld = this.offset <= this.options.outputEnd && this.unparsed > 0;
    if (!isOld && this.mayType.peek() && this.unparsed < UNPARSED_MAX) this.socket?.send(new TextEncoder().encode(data));
  }

  resize(columns: number, rows: number): void {
    if (this.mayType.peek()) this.socket?.send(JSON.stringify({ type: "resize", rows, columns }));
  }

  takeOver(): void {
    if (!this.socket?.send(JSON.stringify({ type: "takeover" }))) return;
    this.takenOverBy.value = null;
    this.mayType.value = true;
    this.fit();
  }

  private fit(): void {
    const size = this.handle?.size();
    if (size && !this.options.isReadOnly) this.resize(size.columns, size.rows);
  }

  private take(message: Record<string, unknown>): void {
    const who = typeof message["who"] === "string" && message["who"] ? message["who"] : t.aCall;
    switch (message["type"]) {
      case "started":
        this.viewer.value = Number(message["viewer"]);
        this.mayType.value = message["writes"] === true && !this.options.isReadOnly;
        this.fit();
        this.options.onPeople();
        break;
      case "typing":
        this.typing.value = who;
        clearTimeout(this.typingTimer);
        this.typingTimer = setTimeout(() => (this.typing.value = null), TYPES_MS);
        break;
      case "taken_over":
        this.takenOverBy.value = who;
        this.mayType.value = false;
        this.options.onPeople();
        break;
      case "dropped":
        this.offset += Number(message["bytes"]) || 0;
        if (this.offset > this.options.outputEnd) void this.handle?.write(`\r\n\x1b[7m ${t.dropped(Number(message["bytes"]))} \x1b[0m\r\n`);
        break;
      case "exit":
        this.exitCode.value = typeof message["exit_code"] === "number" ? message["exit_code"] : null;
        this.mayType.value = false;
        this.close();
        this.options.onEnd();
    }
  }

  private readonly onVisible = (): void => {
    clearTimeout(this.hiddenTimer);
    if (document.visibilityState === "hidden") {
      this.hiddenTimer = setTimeout(() => {
        this.socket?.close();
        this.state.value = "hidden";
      }, HIDDEN_MS);
    } else if (this.state.peek() === "hidden") this.connect();
  };

  close(): void {
    clearTimeout(this.hiddenTimer);
    clearTimeout(this.typingTimer);
    document.removeEventListener("visibilitychange", this.onVisible);
    this.socket?.close();
  }
}
