// SPDX-License-Identifier: Apache-2.0
// The one warm sandbox of a key (docs/use/leases.md), and work in it that survives its loss once.
import { AtollError, NotFoundError } from './errors.js';
import { Transport, path } from './http.js';
import { Sandbox } from './sandbox.js';

// What a call on a sandbox that is gone may fail with: worth a look.
const MAY_MEAN_GONE = new Set(['sandbox_not_found', 'not_found', 'conflict', 'timeout', 'unavailable', 'internal']);
const ALIVE = new Set(['started', 'paused', 'pending', 'creating']);
const ACQUIRE_TIMEOUT_MS = 600000;

export class Leases {
  constructor(transport) {
    this.transport = transport;
    this.known = new Map(); // key → a promise of its sandbox
  }

  /** Finds, starts or makes the key's sandbox. */
  async acquire(key, { signal, idempotencyKey, ...options } = {}) {
    const call = { json: { key, ...options }, signal, idempotencyKey, timeoutMs: ACQUIRE_TIMEOUT_MS };
    const lease = await this.transport.request('POST', '/v1/leases/acquire', call);
    const sandbox = new Sandbox(this.transport, { id: lease.sandbox_id, name: undefined });
    return { lease, sandbox };
  }

  get(key) {
    return this.transport.request('GET', path`/v1/leases/${key}`);
  }

  async list(query = {}) {
    return (await this.transport.request('GET', '/v1/leases', { query })).items;
  }

  keepAlive(key, timeoutMs) {
    return this.transport.request('POST', path`/v1/leases/${key}/keepalive`, { json: { timeoutMs } });
  }

  release(key) {
    return this.transport.request('POST', path`/v1/leases/${key}/release`);
  }

  pause(key) {
    return this.transport.request('POST', path`/v1/leases/${key}/pause`);
  }

  async delete(key) {
    this.known.delete(key);
    await this.transport.request('DELETE', path`/v1/leases/${key}`);
  }

  /** The sandbox that is remembered for the key, else an acquired one; who comes meanwhile waits for the same. */
  sandboxOf(key, options) {
    let found = this.known.get(key);
    if (!found) {
      found = this.acquire(key, options).then(({ sandbox }) => sandbox);
      this.known.set(key, found);
      found.catch(() => this.evict(key, found));
    }
    return found;
  }

  evict(key, found) {
    if (this.known.get(key) === found) this.known.delete(key);
  }

  /** Calls fn with the key's sandbox. If the sandbox no longer exists, calls it once more with a new one. */
  async with(key, fn, options = {}) {
    const found = this.sandboxOf(key, options);
    const sandbox = await found;
    try {
      return await fn(sandbox);
    } catch (error) {
      if (!(await isGone(sandbox, error))) throw error;
    }
    this.evict(key, found);
    return fn(await this.sandboxOf(key, options));
  }
}

async function isGone(sandbox, error) {
  if (error?.code === 'sandbox_not_found' && error.status === undefined) return true;
  if (!(error instanceof AtollError) || !MAY_MEAN_GONE.has(error.code)) return false;
  try {
    return !ALIVE.has((await sandbox.refresh()).state);
  } catch (failure) {
    return failure instanceof NotFoundError;
  }
}

const shared = new Map(); // address and key → leases

/** Work in the warm sandbox of a key, with the server of the environment unless options say where. */
export async function withSandbox(key, fn, options = {}) {
  const { apiUrl, apiKey, project, timeoutMs, retries, fetch, ...lease } = options;
  const transport = new Transport({ apiUrl, apiKey, project, timeoutMs, retries, fetch });
  const name = JSON.stringify([transport.url, transport.key, project]);
  let leases = shared.get(name);
  if (!leases) {
    leases = new Leases(transport);
    shared.set(name, leases);
  }
  return leases.with(key, fn, lease);
}
