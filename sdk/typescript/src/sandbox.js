// SPDX-License-Identifier: Apache-2.0
import { Code } from './code.js';
import { Commands } from './commands.js';
import { NotFoundError } from './errors.js';
import { Files } from './files.js';
import { Transport, path } from './http.js';
import { Services } from './services.js';
import { requestWithProgress } from './sse.js';

const BASE = '/api/sandbox/instances';
// The first use of a template builds it.
const CREATE_TIMEOUT_MS = 600000;

const CONNECTION = ['apiUrl', 'apiKey', 'project', 'timeoutMs', 'retries', 'fetch', 'transport'];

/** Separates the options of the connection from those of the call. */
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

  /** Creates a sandbox and starts it. If the answer is lost, the call is repeated and still creates one sandbox. `template` or `image` ('python:3.12', pulled once) says what is in it. While the template is built, onProgress is called. */
  static async create(options = {}) {
    const { transport, rest } = split(options);
    const { signal, onProgress, idempotencyKey = globalThis.crypto?.randomUUID?.() ?? `${Date.now()}-${Math.random()}`, ...body } = rest;
    const call = { json: body, signal, idempotencyKey, timeoutMs: CREATE_TIMEOUT_MS };
    const info = onProgress
      ? await requestWithProgress(transport, 'POST', BASE, { ...call, onProgress })
      : await transport.request('POST', BASE, call);
    return new Sandbox(transport, info);
  }

  /** Says what create would make of the same options, with the source of each value and the price. Makes nothing. */
  static async plan(options = {}) {
    const { transport, rest } = split(options);
    const { signal, ...body } = rest;
    return transport.request('POST', BASE, { json: body, query: { dry_run: true }, signal });
  }

  /** Finds a sandbox by id or name. SandboxNotFoundError if there is none. */
  static async connect(id, options = {}) {
    const { transport } = split(options);
    return new Sandbox(transport, await infoOf(transport, id));
  }

  /** Lists sandboxes, newest first. Filters and order: as GET /api/sandbox/instances, such as `state`, `q`, `label`, `sort`. */
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

  /** Deletes a sandbox and its files; false if there was none. With `keep`, undelete can restore it for some time. */
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

  /** Restores a sandbox that was deleted with `keep`, by its id. It is stopped afterwards. */
  static async undelete(id, options = {}) {
    const { transport } = split(options);
    return new Sandbox(transport, await transport.request('POST', path`/api/sandbox/instances/${id}/undelete`));
  }

  /** Lists the sandboxes that undelete can restore, and until when. */
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

  /** Gets the current state of the sandbox. */
  async refresh() {
    this.info = await infoOf(this.transport, this.id);
    return this.info;
  }

  /** Whether the sandbox is started or paused, so that the next call works. */
  async isRunning() {
    try {
      return ['started', 'paused'].includes((await this.refresh()).state);
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Changes the name, the labels or the timeouts; with `version`, only if the sandbox still has it. */
  async update(change) {
    this.info = await this.call('PATCH', '', { json: change });
    this.name = this.info.name;
    return this.info;
  }

  /** Stops all processes and keeps their memory, with { disk: true } on disk (virtual machines). The next call resumes them. */
  pause(options) {
    return this.act('/pause', options);
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

  /** Counts the sandbox as used for so long, so that it is not paused, stopped or deleted as idle. */
  keepAlive(timeoutMs) {
    return this.act('/keepalive', { timeoutMs });
  }

  /** Ends all processes and restores the files of the template or snapshot. */
  reset() {
    return this.act('/reset');
  }

  stats() {
    return this.call('GET', '/stats');
  }

  /** Lists the TCP ports that programs listen on. Neither wakes the sandbox nor counts as its use. */
  async ports() {
    return (await this.call('GET', '/ports')).items;
  }

  snapshot(options = {}) {
    return this.call('POST', '/snapshot', { json: options });
  }

  /** Creates sandboxes with a copy of this one's files. This one keeps running. */
  async fork(options = {}) {
    const { items, snapshot } = await this.call('POST', '/fork', { json: options, timeoutMs: CREATE_TIMEOUT_MS });
    return { sandboxes: items.map((info) => new Sandbox(this.transport, info)), snapshot };
  }

  /** Restores the files of one of its snapshots. */
  async rollback(snapshot) {
    this.info = await this.transport.request('POST', path`/api/sandbox/snapshots/${snapshot}/restore`);
    return this.info;
  }

  /** What was called in the sandbox: a page, oldest first. {last: 50} gives the newest. */
  async activity(query = {}) {
    return (await this.call('GET', '/activity', { query })).items;
  }

  /** Replaces the network rules: allow, deny, presets and mode. */
  async setEgress(rules) {
    this.info = await this.call('PUT', '/egress', { json: rules });
    return this.info;
  }

  /** Allows one more host, at once, and keeps the other rules. */
  allowHost(host) {
    return this.act('/egress/allow', { host });
  }

  /** What the network rules decided: a page, oldest first. {last: 50} gives the newest. */
  async egressLog(query = {}) {
    return (await this.call('GET', '/egress/log', { query })).items;
  }

  /** Says what the network rules would decide. */
  checkEgress(host, port) {
    return this.call('GET', '/egress/check', { query: { host, port } });
  }

  /** The hosts that the sandbox asks for. */
  async accessRequests(query = {}) {
    return (await this.call('GET', '/egress/requests', { query })).items;
  }

  /** Allows or refuses a host that the sandbox asks for. */
  decideAccess(request, allow, note) {
    return this.call('POST', path`/egress/requests/${request}/` + (allow ? 'allow' : 'deny'), { json: note === undefined ? {} : { note } });
  }

  /** Lists the changed files, compared with the template or with the snapshot `base`. */
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

  /** Returns the same changes as a patch. */
  async diff(query = {}) {
    const where = path`/api/sandbox/instances/${this.id}/diff`;
    const bytes = await this.transport.bytes(where, { query: { format: 'patch', ...query }, headers: { Accept: '*/*' } });
    return new TextDecoder().decode(bytes);
  }

  /** Saves a file as an artifact, which stays when the sandbox is deleted. */
  keepArtifact(path, { user, keepSeconds } = {}) {
    return this.call('POST', '/artifacts', { json: { path, user, keep_seconds: keepSeconds }, timeoutMs: CREATE_TIMEOUT_MS });
  }

  /** Opens a terminal that outlives its connections: attach to `path` by WebSocket, with the key or a ticket. */
  openTerminal(options = {}) {
    return this.call('POST', '/terminal', { json: options });
  }

  /** Calls an agent tool (`bash`, `read`, `edit`, `grep` …) in the sandbox. `conversationId` and others are options. */
  tool(name, input, options = {}) {
    const json = { ...options, sandboxId: this.id, input };
    return this.transport.request('POST', path`/v1/tools/${name}`, { json, timeoutMs: CREATE_TIMEOUT_MS });
  }

  /** Gets which ports can be reached from outside, and by whom. */
  preview() {
    return this.call('GET', '/preview');
  }

  setPreview(change) {
    return this.call('PATCH', '/preview', { json: change });
  }

  /** Makes a link to a port that works without a key. */
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

function infoOf(transport, id) {
  return transport.request('GET', path`/api/sandbox/instances/${id}`);
}
