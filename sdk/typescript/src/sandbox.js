// SPDX-License-Identifier: Apache-2.0
import { Code } from './code.js';
import { Commands } from './commands.js';
import { NotFoundError, SandboxNotFoundError } from './errors.js';
import { Files } from './files.js';
import { Transport, path } from './http.js';
import { Services } from './services.js';
import { requestWithProgress } from './sse.js';

const BASE = '/api/sandbox/instances';
// A template that has never been used is built first.
const CREATE_TIMEOUT_MS = 600000;

const CONNECTION = ['apiUrl', 'apiKey', 'project', 'timeoutMs', 'retries', 'fetch', 'transport'];

/** What says where the server is, apart from what is asked of it. */
function split(options) {
  const connection = {};
  const rest = {};
  for (const [name, value] of Object.entries(options))
    if (CONNECTION.includes(name)) connection[name] = value;
    else rest[name] = value;
  return { transport: connection.transport ?? new Transport(connection), rest };
}

export class Sandbox {
  constructor(transport, info) {
    this.transport = transport;
    this.id = info.id;
    this.name = info.name;
    this.info = info;
    this.commands = new Commands(this);
    this.files = new Files(this);
    this.code = new Code(this);
    this.services = new Services(this);
  }

  /** Makes one and starts it. A create whose answer was lost makes no second one. While it waits for its template, onProgress is told. */
  static async create(options = {}) {
    const { transport, rest } = split(options);
    const { signal, onProgress, idempotencyKey = globalThis.crypto?.randomUUID?.() ?? `${Date.now()}-${Math.random()}`, ...body } = rest;
    const call = { json: body, signal, idempotencyKey, timeoutMs: CREATE_TIMEOUT_MS };
    const info = onProgress
      ? await requestWithProgress(transport, 'POST', BASE, { ...call, onProgress })
      : await transport.request('POST', BASE, call);
    return new Sandbox(transport, info);
  }

  /** One that is there, by id or name. */
  static async connect(id, options = {}) {
    const { transport } = split(options);
    return new Sandbox(transport, await infoOf(transport, id));
  }

  /** All of them, newest first; `state`, `name`, `template` and `label` narrow it. */
  static async list(options = {}) {
    const { transport, rest } = split(options);
    const { signal, ...query } = rest;
    const found = [];
    let page;
    do {
      const answer = await transport.request('GET', BASE, { query: { ...query, page }, signal });
      found.push(...answer.items);
      page = answer.next_page;
    } while (page && query.limit === undefined);
    return found;
  }

  /** Deletes it and its files; false when there was none. With `keep`, undelete brings it back for a while. */
  static async kill(id, options = {}) {
    const { transport, rest } = split(options);
    try {
      await transport.request('DELETE', path`/api/sandbox/instances/${id}`, { query: { keep: rest.keep || undefined } });
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Brings one back, by its id, that was killed with `keep`; it is stopped then. */
  static async undelete(id, options = {}) {
    const { transport } = split(options);
    return new Sandbox(transport, await transport.request('POST', path`/api/sandbox/instances/${id}/undelete`));
  }

  /** What undelete can bring back, and until when. */
  static async trash(options = {}) {
    const { transport } = split(options);
    return (await transport.request('GET', '/api/sandbox/trash')).items;
  }

  call(method, rest, call) {
    return this.transport.request(method, path`/api/sandbox/instances/${this.id}` + rest, call);
  }

  async act(what, json) {
    this.info = await this.call('POST', what, json === undefined ? {} : { json });
    return this.info;
  }

  kill({ keep } = {}) {
    return Sandbox.kill(this.id, { keep, transport: this.transport });
  }

  /** As it is now. */
  async refresh() {
    this.info = await infoOf(this.transport, this.id);
    return this.info;
  }

  /** Whether it is started or paused: its next call finds it. */
  async isRunning() {
    try {
      return ['started', 'paused'].includes((await this.refresh()).state);
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Freezes it with its memory; its next call lets it go on. */
  pause() {
    return this.act('/pause');
  }

  resume() {
    return this.act('/resume');
  }

  start() {
    return this.act('/start');
  }

  stop() {
    return this.act('/stop');
  }

  /** Not idle for so long. */
  keepAlive(timeoutMs) {
    return this.act('/keepalive', { timeoutMs });
  }

  /** All processes ended, and the files that it was made with. */
  reset() {
    return this.act('/reset');
  }

  stats() {
    return this.call('GET', '/stats');
  }

  snapshot(options = {}) {
    return this.call('POST', '/snapshot', { json: options });
  }

  /** Other sandboxes with this one's files; this one goes on. */
  async fork(options = {}) {
    const { items, snapshot } = await this.call('POST', '/fork', { json: options, timeoutMs: CREATE_TIMEOUT_MS });
    return { sandboxes: items.map((info) => new Sandbox(this.transport, info)), snapshot };
  }

  /** Its files as a snapshot of it has them. */
  async rollback(snapshot) {
    this.info = await this.transport.request('POST', path`/api/sandbox/snapshots/${snapshot}/restore`);
    return this.info;
  }

  /** What changed against its template, or a snapshot as `base`: a list of changes. */
  async changes(query = {}) {
    const found = [];
    let page;
    do {
      const answer = await this.call('GET', '/changes', { query: { ...query, page } });
      found.push(...answer.items);
      page = answer.next_page;
    } while (page && query.limit === undefined);
    return found;
  }

  /** The same as a patch. */
  async diff(query = {}) {
    const where = path`/api/sandbox/instances/${this.id}/diff`;
    const bytes = await this.transport.bytes(where, { query: { format: 'patch', ...query }, headers: { Accept: '*/*' } });
    return new TextDecoder().decode(bytes);
  }

  /** Keeps a file when the sandbox is gone. */
  keepArtifact(path, { user, keepSeconds } = {}) {
    return this.call('POST', '/artifacts', { json: { path, user, keep_seconds: keepSeconds }, timeoutMs: CREATE_TIMEOUT_MS });
  }

  /** A terminal that lives on: attach to `path` as a WebSocket, with the key or a ticket. */
  openTerminal(options = {}) {
    return this.call('POST', '/terminal', { json: options });
  }

  /** Calls an agent tool (`bash`, `read`, `edit`, `grep` …) in it; `conversationId` and the like go beside `input`. */
  tool(name, input, options = {}) {
    const json = { ...options, sandboxId: this.id, input };
    return this.transport.request('POST', path`/v1/tools/${name}`, { json, timeoutMs: CREATE_TIMEOUT_MS });
  }

  /** What of it may be seen from outside. */
  preview() {
    return this.call('GET', '/preview');
  }

  setPreview(change) {
    return this.call('PATCH', '/preview', { json: change });
  }

  /** A link to a port, for those who have no key. */
  previewLink(port, options = {}) {
    return this.call('POST', '/preview-tokens', { json: { port, ...options } });
  }

  async volumes() {
    return (await this.call('GET', '/volume')).items;
  }

  attachVolume(options) {
    return this.call('POST', '/volume', { json: options });
  }
}

async function infoOf(transport, id) {
  try {
    return await transport.request('GET', path`/api/sandbox/instances/${id}`);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const { message, hint, requestId, status } = error;
    throw new SandboxNotFoundError(message, { code: 'sandbox_not_found', hint, requestId, status, cause: error });
  }
}
