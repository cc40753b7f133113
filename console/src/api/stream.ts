// SPDX-License-Identifier: Apache-2.0
// stream.ts: server-sent events over fetch, which unlike EventSource may send a body and headers, and sees the comments that keep a
// connection alive.
import { fetchRaw, type RawOptions } from "./call";
import { SseParser, type SseMessage } from "./sse";

export interface StreamOptions extends RawOptions {
  /** Runs for every piece of the answer, also for comments. */
  onBytes?: () => void;
}

/** The messages of one answer until it ends. Breaking out of the loop, or the signal, cancels it. */
export async function* streamEvents(method: string, address: string, options: StreamOptions = {}): AsyncGenerator<SseMessage> {
  const answer = await fetchRaw(method, address, { ...options, headers: { Accept: "text/event-stream", ...options.headers } });
  const reader = answer.body?.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  if (!reader) return;
  const parser = new SseParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      options.onBytes?.();
      yield* parser.feed(value);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
