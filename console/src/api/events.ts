// SPDX-License-Identifier: Apache-2.0
// events.ts: the project's events in every tab over one connection per browser. Browsers open six connections to an origin, so the tab
// that holds a Web Lock reads the stream and passes the events to the others by a BroadcastChannel.
import { batch, signal } from "@preact/signals";
import { Backoff, waitOrWake } from "./backoff";
import { addressOf, call } from "./call";
import { isAbort } from "./errors";
import { getV1Events, type Event } from "./generated";
import { streamEvents } from "./stream";

/** An event as the stream sends it; `object` comes with ?with=object. */
export type LiveEvent = Event & { object?: unknown };
export type LiveState = "connecting" | "live" | "down";
/** since: when the state began, in ms since 1970. */
export const liveStatus = signal<{ state: LiveState; since: number }>({ state: "connecting", since: Date.now() });
/** The newest event that this tab knows. */
export const lastSequence = signal(0);
/** The stream brings every event after this one. 0: not known yet; an answer that was read before may lack events. */
export const streamStart = signal(0);

type Message =
  | { type: "event"; event: LiveEvent }
  | { type: "lost" }
  | { type: "hello" }
  | { type: "state"; state: LiveState; since: number; sequence: number };
type Handler = (event: LiveEvent) => void;

// A comment comes every 15 s; a connection that is silent for longer than two of them is dead.
const SILENT_MS = 35_000;
const handlers = new Set<{ matches: (kind: string) => boolean; handle: Handler }>();
const lostHandlers = new Set<() => void>();
let channel: BroadcastChannel | null = null;
let stopped: AbortController | null = null;
let queue: LiveEvent[] = [];
let isLeader = false;

/** Handles events of some kinds: "sandbox.*", "build.ready", or "*". Returns the function that stops it. */
export function onEvent(kinds: readonly string[], handle: Handler): () => void {
  const matches = (kind: string): boolean =>
    kinds.some((k) => k === "*" || k === kind || (k.endsWith(".*") && kind.startsWith(k.slice(0, -1))));
  const entry = { matches, handle };
  handlers.add(entry);
  return () => handlers.delete(entry);
}

/** Runs when events were missed: read again what is shown. */
export function onLost(handle: () => void): () => void {
  lostHandlers.add(handle);
  return () => lostHandlers.delete(handle);
}

function setState(state: LiveState): void {
  if (liveStatus.peek().state === state) return;
  liveStatus.value = { state, since: Date.now() };
  if (isLeader) tellState();
}

function tellState(): void {
  channel?.postMessage({ type: "state", ...liveStatus.peek(), sequence: lastSequence.peek() } satisfies Message);
}

function deliver(): void {
  const events = queue;
  queue = [];
  batch(() => {
    for (const event of events) {
      for (const entry of handlers) if (entry.matches(event.kind)) entry.handle(event);
    }
  });
}

/** Events of one animation frame are applied together. A hidden tab has no frames. */
function take(event: LiveEvent, project: string): void {
  if (event.sequence <= lastSequence.peek() || (event.project !== null && event.project !== project)) return;
  lastSequence.value = event.sequence;
  queue.push(event);
  if (queue.length > 1) return;
  if (document.visibilityState === "hidden") setTimeout(deliver, 50);
  else requestAnimationFrame(deliver);
}

function lose(): void {
  for (const handle of lostHandlers) handle();
}

function onMessage(message: Message, project: string): void {
  if (message.type === "event") take(message.event, project);
  else if (message.type === "lost") lose();
  else if (message.type === "hello" && isLeader) tellState();
  else if (message.type === "state" && !isLeader) {
    liveStatus.value = { state: message.state, since: message.since };
    if (lastSequence.peek() === 0) lastSequence.value = streamStart.value = message.sequence;
  }
}

async function readStream(project: string, signal: AbortSignal, onLive: () => void): Promise<void> {
  const dead = new AbortController();
  const both = AbortSignal.any([signal, dead.signal]);
  let timer = setTimeout(() => dead.abort(), SILENT_MS);
  const alive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => dead.abort(), SILENT_MS);
    onLive();
  };
  try {
    const address = addressOf("/v1/events", {}, { after: lastSequence.peek(), stream: "sse", with: "object" });
    for await (const message of streamEvents("GET", address, { signal: both, onBytes: alive })) {
      if (message.event === "lost") {
        channel?.postMessage({ type: "lost" } satisfies Message);
        lose();
        continue;
      }
      const event = parseEvent(message.data);
      if (!event) continue;
      channel?.postMessage({ type: "event", event } satisfies Message);
      take(event, project);
    }
  } finally {
    clearTimeout(timer);
  }
}

function parseEvent(data: string): LiveEvent | null {
  try {
    const event = JSON.parse(data) as LiveEvent;
    return typeof event.sequence === "number" && typeof event.kind === "string" ? event : null;
  } catch {
    return null;
  }
}

const readNewest = (signal: AbortSignal): Promise<number> => call(getV1Events, { query: { last: 1 }, signal }).then((answer) => answer.after);

async function lead(project: string, signal: AbortSignal, first: Promise<number | null>): Promise<void> {
  const backoff = new Backoff();
  isLeader = true;
  while (!signal.aborted) {
    try {
      if (lastSequence.peek() === 0) {
        const newest = (await first) ?? (await readNewest(signal));
        lastSequence.value = streamStart.value = newest;
      }
      await readStream(project, signal, () => {
        backoff.reset();
        setState("live");
      });
    } catch (thrown) {
      if (isAbort(thrown) && signal.aborted) break;
    }
    setState("down");
    await waitOrWake(backoff.nextMs(), signal);
  }
  isLeader = false;
}

/** Begins with the events of a project; a call for another project ends those of the first. */
export function startEvents(project: string): void {
  stopEvents();
  const stop = new AbortController();
  stopped = stop;
  lastSequence.value = streamStart.value = 0;
  liveStatus.value = { state: "connecting", since: Date.now() };
  const name = `atoll-events-${project}`;
  channel = new BroadcastChannel(name);
  channel.onmessage = (e: MessageEvent<Message>) => onMessage(e.data, project);
  channel.postMessage({ type: "hello" } satisfies Message);
  // Asked before any page reads a list: what happens while the lock is awaited is in the stream.
  const first = readNewest(stop.signal).catch(() => null);
  if (!navigator.locks) {
    void lead(project, stop.signal, first); // An address without TLS that is not localhost has no Web Locks: a stream for each tab.
    return;
  }
  navigator.locks.request(name, { signal: stop.signal }, () => lead(project, stop.signal, first)).catch(() => undefined);
}

export function stopEvents(): void {
  stopped?.abort();
  stopped = null;
  channel?.close();
  channel = null;
  queue = [];
}
