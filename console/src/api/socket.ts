// SPDX-License-Identifier: Apache-2.0
// socket.ts: a WebSocket that comes back. `path` is asked for each connection anew, because a ticket is good for one.
import { Backoff, waitOrWake } from "./backoff";
import { asApiError, isAbort, type ApiError } from "./errors";

export interface SocketHandlers {
  /** The path with its ticket, for a connection that begins after `received` bytes. */
  path: (received: number) => Promise<string>;
  onBytes: (bytes: Uint8Array) => void;
  /** A text message, parsed; what is not JSON is not passed on. */
  onMessage?: (message: Record<string, unknown>) => void;
  /** error: why the last connection ended, or null. */
  onState?: (state: "connecting" | "open" | "waiting" | "closed", error: ApiError | null) => void;
}

export class LiveSocket {
  private socket: WebSocket | null = null;
  private readonly stop = new AbortController();
  private readonly backoff = new Backoff();
  /** Bytes that came in, over all connections. */
  received = 0;

  constructor(private readonly handlers: SocketHandlers) {
    void this.run();
  }

  send(data: string | Uint8Array): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(data as string | Uint8Array<ArrayBuffer>);
    return true;
  }

  close(): void {
    this.stop.abort();
    this.socket?.close();
    this.handlers.onState?.("closed", null);
  }

  private async run(): Promise<void> {
    let error: ApiError | null = null;
    while (!this.stop.signal.aborted) {
      this.handlers.onState?.("connecting", error);
      try {
        await this.connect(await this.handlers.path(this.received));
        error = null;
      } catch (thrown) {
        if (isAbort(thrown)) return;
        error = asApiError(thrown);
      }
      if (this.stop.signal.aborted) return;
      // A refusal does not go away by itself: the user asks again.
      if (error && error.status >= 400 && error.status < 500 && error.status !== 429) {
        this.handlers.onState?.("closed", error);
        return;
      }
      this.handlers.onState?.("waiting", error);
      await waitOrWake(this.backoff.nextMs(), this.stop.signal);
    }
  }

  private connect(path: string): Promise<void> {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    return new Promise((resolve) => {
      const socket = new WebSocket(address);
      socket.binaryType = "arraybuffer";
      this.socket = socket;
      socket.onopen = () => {
        this.backoff.reset();
        this.handlers.onState?.("open", null);
      };
      socket.onmessage = (e: MessageEvent<string | ArrayBuffer>) => this.take(e.data);
      socket.onclose = () => resolve();
    });
  }

  private take(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      this.received += data.byteLength;
      this.handlers.onBytes(new Uint8Array(data));
      return;
    }
    try {
      this.handlers.onMessage?.(JSON.parse(data) as Record<string, unknown>);
    } catch {
      // Text that is no message.
    }
  }
}
