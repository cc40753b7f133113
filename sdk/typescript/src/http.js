// SPDX-License-Identifier: Apache-2.0
// One call: address, key, deadline, and once more where that is safe.
import { AtollError, ConnectionError, TimeoutError, errorOfResponse } from './errors.js';

const RETRY_STATUS = new Set([429, 502, 503, 504]);
const RETRY_WAIT_MS = 200;
const RETRY_WAIT_MAX_MS = 5000;
const CURE = 'is the server running there? Another address is set by ATOLL_API_URL or by apiUrl';

export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A signal that follows the caller's and has a clock of its own, which each touch() sets again. */
export class Deadline {
  constructor(signal, ms, what) {
    this.controller = new AbortController();
    this.outer = signal;
    this.ms = ms;
    this.what = what;
    this.onAbort = () => this.controller.abort(signal.reason);
    if (signal?.aborted) this.onAbort();
    else signal?.addEventListener('abort', this.onAbort, { once: true });
    this.touch();
  }

  get signal() {
    return this.controller.signal;
  }

  touch(ms = this.ms) {
    this.ms = ms;
    clearTimeout(this.timer);
    if (!(ms > 0)) return;
    this.timer = setTimeout(
      () => this.controller.abort(new TimeoutError(`${this.what}: no answer within ${ms} ms`, { code: 'timeout' })),
      ms,
    );
  }

  stop() {
    clearTimeout(this.timer);
    this.outer?.removeEventListener('abort', this.onAbort);
  }
}

export function pathOf(parts, ...names) {
  return parts.reduce((path, part, i) => path + part + (i < names.length ? encodeURIComponent(names[i]) : ''), '');
}

/** path`/a/${id}/b`, with every value percent-encoded. */
export const path = (parts, ...names) => pathOf(parts, ...names);

export class Transport {
  constructor({ apiUrl, apiKey, project, timeoutMs = 60000, retries = 2, fetch: fetcher } = {}) {
    const env = globalThis.process?.env ?? {};
    this.url = (apiUrl ?? env.ATOLL_API_URL ?? 'http://127.0.0.1:7777').replace(/\/+$/, '');
    this.key = apiKey ?? env.ATOLL_API_KEY;
    this.project = project;
    this.timeoutMs = timeoutMs;
    this.retries = retries;
    this.fetch = fetcher ?? globalThis.fetch;
    if (!/^https?:\/\//.test(this.url))
      throw new AtollError(`apiUrl '${this.url}' begins neither with http:// nor with https://`, { code: 'invalid_request' });
  }

  headers(call) {
    const headers = { Accept: 'application/json', ...call.headers };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    if (this.project) headers['X-Atoll-Project'] = this.project;
    if (call.json !== undefined) headers['Content-Type'] = 'application/json';
    if (call.idempotencyKey) headers['Idempotency-Key'] = call.idempotencyKey;
    return headers;
  }

  address(where, query) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {}))
      if (value !== undefined && value !== null) search.append(name, String(value));
    const text = search.toString();
    return this.url + where + (text ? `?${text}` : '');
  }

  /** One attempt: the answer's head. The deadline goes on with its body. */
  async send(method, where, call, deadline) {
    try {
      return await this.fetch(this.address(where, call.query), {
        method,
        headers: this.headers(call),
        body: call.json === undefined ? call.body : JSON.stringify(call.json),
        signal: deadline.signal,
        ...(call.streamsBody ? { duplex: 'half' } : {}),
      });
    } catch (error) {
      throw this.failure(error, deadline, `${method} ${where}`);
    }
  }

  failure(error, deadline, what) {
    if (deadline.signal.aborted) return deadline.signal.reason;
    if (error instanceof AtollError) return error;
    const reason = error?.cause?.code ?? error?.cause?.message ?? error?.message ?? error;
    return new ConnectionError(`${what}: the connection to ${this.url} failed: ${reason}`, { code: 'connection', hint: CURE, cause: error });
  }

  /** Whether a call that failed may be sent again: it changes nothing twice, and its body is at hand. */
  mayRepeat(method, call) {
    if (call.streamsBody) return false;
    return method === 'GET' || method === 'DELETE' || method === 'PUT' || Boolean(call.idempotencyKey);
  }

  /** The answer, its body not read yet; an error for all but success. */
  async open(method, where, call = {}) {
    const attempts = this.mayRepeat(method, call) ? this.retries + 1 : 1;
    for (let attempt = 1; ; attempt++) {
      const deadline = new Deadline(call.signal, call.timeoutMs ?? this.timeoutMs, `${method} ${where} at ${this.url}`);
      let error;
      try {
        const response = await this.send(method, where, call, deadline);
        if (response.ok) return { response, deadline };
        error = await errorOfResponse(response);
      } catch (failure) {
        error = failure;
      }
      deadline.stop();
      // An earlier attempt has done it, and its answer was lost.
      if (attempt > 1 && method === 'DELETE' && error.status === 404) return { response: undefined, deadline };
      const again = error instanceof ConnectionError || RETRY_STATUS.has(error?.status);
      if (!again || attempt >= attempts) throw error;
      const wait = error.retryAfterMs ?? RETRY_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      await sleep(Math.min(wait, RETRY_WAIT_MAX_MS), call.signal);
    }
  }

  /** The answer's JSON; undefined when it has none. */
  async request(method, where, call = {}) {
    const { response, deadline } = await this.open(method, where, call);
    try {
      if (!response || response.status === 204) return undefined;
      const text = await response.text();
      return text ? JSON.parse(text) : undefined;
    } catch (error) {
      throw this.failure(error, deadline, `${method} ${where}`);
    } finally {
      deadline.stop();
    }
  }

  /** The bytes of an answer. */
  async bytes(where, call = {}) {
    const { response, deadline } = await this.open('GET', where, call);
    try {
      return new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      throw this.failure(error, deadline, `GET ${where}`);
    } finally {
      deadline.stop();
    }
  }

  /** A stream of an answer's bytes; the clock is set again by each piece. */
  async stream(where, call = {}) {
    const { response, deadline } = await this.open('GET', where, call);
    const reader = response.body.getReader();
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          deadline.touch();
          if (done) {
            deadline.stop();
            controller.close();
          } else {
            controller.enqueue(value);
          }
        } catch (error) {
          deadline.stop();
          controller.error(this.failure(error, deadline, `GET ${where}`));
        }
      },
      cancel: async (reason) => {
        deadline.stop();
        await reader.cancel(reason);
      },
    });
  }
}
