// SPDX-License-Identifier: Apache-2.0
// Server-sent events as an async iterator of {id, event, data}.
import { ConnectionError, errorOfEvent } from './errors.js';
import { sleep } from './http.js';

// The server says something every 15 s; who is silent for so long is gone.
const SILENCE_MS = 45000;
const RETRY_WAIT_MS = 200;
const EVENT_MAX = 64 * 1024 * 1024;

export class EventParser {
  constructor() {
    this.rest = '';
    this.clear();
  }

  clear() {
    this.event = 'message';
    this.data = [];
  }

  /** The events that this text ends. */
  add(text) {
    const events = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop();
    if (this.rest.length > EVENT_MAX) throw new ConnectionError('an event of the server is too long', { code: 'connection' });
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        if (this.data.length > 0) events.push({ id: this.id, event: this.event, data: this.data.join('\n') });
        this.clear();
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (name === 'event') this.event = value;
      else if (name === 'data') this.data.push(value);
      else if (name === 'id') this.id = value;
    }
    return events;
  }
}

/** The events of one connection. Ends with it; fails when it breaks. */
export async function* events(transport, method, where, call = {}) {
  yield* eventsOf(transport, await open(transport, method, where, call), `${method} ${where}`, { signal: call.signal });
}

function open(transport, method, where, call) {
  return transport.open(method, where, { ...call, headers: { ...call.headers, Accept: 'text/event-stream' } });
}

async function* eventsOf(transport, { response, deadline }, what, { signal, silenceMs = SILENCE_MS }) {
  const decoder = new TextDecoder();
  const parser = new EventParser();
  const reader = response.body.getReader();
  try {
    for (;;) {
      deadline.touch(silenceMs);
      const { value, done } = await reader.read();
      if (done) return;
      for (const event of parser.add(decoder.decode(value, { stream: true }))) yield event;
    }
  } catch (error) {
    const failure = transport.failure(error, deadline, what);
    // Silence is a broken connection, not a slow answer: whoever reads may resume.
    if (failure?.code === 'timeout' && failure !== signal?.reason)
      throw new ConnectionError(failure.message, { code: 'connection', cause: failure });
    throw failure;
  } finally {
    deadline.stop();
    reader.cancel().catch(() => {});
  }
}

async function resultOf(stream, what, tell) {
  for await (const { event, data } of stream) {
    if (event === 'result') return JSON.parse(data);
    if (event === 'error') throw errorOfEvent(data);
    tell(JSON.parse(data));
  }
  throw new ConnectionError(`${what}: the answer is not whole`, { code: 'connection' });
}

/** The answer's JSON of a call that tells what it waits for. A stream that breaks is asked for again where that is safe. */
export async function requestWithProgress(transport, method, where, { onProgress, ...call }) {
  const what = `${method} ${where}`;
  const attempts = transport.mayRepeat(method, call) ? transport.retries + 1 : 1;
  for (let attempt = 1; ; attempt++) {
    const opened = await open(transport, method, where, call);
    try {
      const limits = { signal: call.signal, silenceMs: call.timeoutMs ?? transport.timeoutMs };
      return await resultOf(eventsOf(transport, opened, what, limits), what, onProgress);
    } catch (error) {
      if (!(error instanceof ConnectionError) || attempt >= attempts) throw error;
    }
    await sleep(RETRY_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random()), call.signal);
  }
}
