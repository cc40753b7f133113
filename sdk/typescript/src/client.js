// SPDX-License-Identifier: Apache-2.0
// Calls of a server that do not belong to one sandbox.
import { Approvals, Consents } from './approvals.js';
import { Audit } from './audit.js';
import { ConnectionError, TimeoutError } from './errors.js';
import { VolumeFiles } from './files.js';
import { Transport, path, sleep } from './http.js';
import { Leases } from './leases.js';
import { Sandbox } from './sandbox.js';
import { events } from './sse.js';

const RECONNECT_WAIT_MS = 200;
const RECONNECT_WAIT_MAX_MS = 5000;
const BUILD_WAIT_MS = 500;
const EPHEMERAL_TIMEOUT_MS = 600000;
const EPHEMERAL_SLACK_MS = 60000; // for the sandbox
const BUILD_ENDS = ['ready', 'error', 'cancelled'];

/** Items of one kind, by name or id. */
class Collection {
  constructor(transport, base) {
    this.transport = transport;
    this.base = base;
  }

  address(id) {
    return `${this.base}/${encodeURIComponent(id)}`;
  }

  async list(query = {}) {
    const found = [];
    let page;
    do {
      const answer = await this.transport.request('GET', this.base, { query: { ...query, page } });
      found.push(...answer.items);
      page = answer.next_page;
    } while (page && query.limit === undefined);
    return found;
  }

  get(id) {
    return this.transport.request('GET', this.address(id));
  }

  create(body) {
    return this.transport.request('POST', this.base, { json: body });
  }

  async delete(id) {
    await this.transport.request('DELETE', this.address(id));
  }
}

class Templates extends Collection {
  update(id, change) {
    return this.transport.request('PATCH', this.address(id), { json: change });
  }
}

/** Builds of templates from steps (docs/use/builds.md). */
class Builds extends Collection {
  /** Gets lines of the log; `since` is `next` of the answer before. */
  logs(id, query = {}) {
    return this.transport.request('GET', `${this.address(id)}/logs`, { query });
  }

  /** Ends a build. What it has built stays in the cache. */
  cancel(id) {
    return this.transport.request('POST', `${this.address(id)}/cancel`);
  }

  /** Uploads files for copy steps: a tar, under a digest of its content. */
  putFiles(hash, tar) {
    const call = { body: tar, headers: { 'Content-Type': 'application/x-tar' } };
    return this.transport.request('PUT', this.address('files') + path`/${hash}`, call);
  }

  /** Waits until a build has ended and answers with it: look at status and message. onLog is called with each line of its log. */
  async wait(id, { timeoutMs = 3600000, onLog, signal } = {}) {
    const end = Date.now() + timeoutMs;
    let since = 0;
    for (;;) {
      // The log after the status: a build that has ended writes nothing more.
      const build = await this.get(id);
      while (onLog) {
        const { lines, next } = await this.logs(id, { since });
        for (const line of lines) await onLog(line);
        if (lines.length === 0) break;
        since = next;
      }
      if (BUILD_ENDS.includes(build.status)) return build;
      if (Date.now() > end) {
        const hint = 'wait again, or cancel it: builds.cancel(id)';
        throw new TimeoutError(`build '${id}' has not ended within ${timeoutMs} ms`, { code: 'timeout', hint });
      }
      await sleep(BUILD_WAIT_MS, signal);
    }
  }
}

class Volumes extends Collection {
  /** Raises the size limit. */
  update(id, change) {
    return this.transport.request('PATCH', this.address(id), { json: change });
  }

  /** The files of a volume. */
  files(id) {
    return new VolumeFiles(this.transport, id);
  }
}

/** Calls that name no sandbox: one is made for the call, and ends with it (docs/use/ephemeral.md). */
class Ephemeral {
  constructor(transport) {
    this.transport = transport;
  }

  call(where, { signal, ...body }) {
    const timeoutMs = (body.timeout_ms ?? EPHEMERAL_TIMEOUT_MS) + EPHEMERAL_SLACK_MS;
    return this.transport.request('POST', where, { json: body, timeoutMs, signal });
  }

  /** Runs a shell line, or a program: {cmd, args}. */
  run(command, options = {}) {
    return this.call('/v1/ephemeral/exec', { ...options, ...(typeof command === 'string' ? { command } : command) });
  }

  runCode(code, options = {}) {
    return this.call('/v1/ephemeral/code', { language: 'python', ...options, code });
  }

  /** Calls an agent tool. Without a workspace only bash is offered. */
  tool(name, input, options = {}) {
    return this.call(path`/v1/tools/${name}`, { ...options, input, ephemeral: true });
  }
}

/** Secrets that network rules use outside of sandboxes (docs/use/credentials.md). No answer has their values. */
class Credentials extends Collection {
  update(name, change) {
    return this.transport.request('PATCH', this.address(name), { json: change });
  }
}

/** Logins at OAuth services, whose tokens become credentials (docs/use/credentials.md). */
class Connects extends Collection {
  /** Revokes the tokens at the service, and deletes the connect and its credential. */
  async delete(id, { force } = {}) {
    await this.transport.request('DELETE', this.address(id), { query: force ? { force: true } : {} });
  }

  /** Lists the services whose hosts and OAuth servers are known. */
  async presets() {
    return (await this.transport.request('GET', '/v1/credential-presets')).items;
  }
}

/** Limits of projects, keys and organisations, and what is used of each (docs/operate/quotas.md). */
class Quotas {
  constructor(transport) {
    this.transport = transport;
  }

  async list() {
    return (await this.transport.request('GET', '/v1/quotas')).items;
  }

  async get(scope, id) {
    return (await this.transport.request('GET', path`/v1/quotas/${scope}/${id}`)).items;
  }

  async update(scope, id, limits) {
    return (await this.transport.request('PATCH', path`/v1/quotas/${scope}/${id}`, { json: limits })).items;
  }
}

/** Spending limits of a project, key, sandbox, run, label or conversation (docs/use/usage.md). */
class Budgets {
  constructor(transport) {
    this.transport = transport;
  }

  async list() {
    return (await this.transport.request('GET', '/v1/budgets')).items;
  }

  create(body) {
    return this.transport.request('POST', '/v1/budgets', { json: body });
  }

  update(id, change) {
    return this.transport.request('PATCH', path`/v1/budgets/${id}`, { json: change });
  }

  async delete(id) {
    await this.transport.request('DELETE', path`/v1/budgets/${id}`);
  }
}

/** Addresses that are told of events (docs/use/events.md). The answer of create has the secret, once. */
class Webhooks extends Collection {
  update(id, change) {
    return this.transport.request('PATCH', this.address(id), { json: change });
  }

  /** Lists deliveries, newest first. */
  async deliveries(id, query = {}) {
    return (await this.transport.request('GET', `${this.address(id)}/deliveries`, { query })).items;
  }

  /** Sends a test event once and returns status, duration and error. */
  test(id) {
    return this.transport.request('POST', this.address(id) + '/test');
  }

  /** Delivers once more. */
  retry(id, delivery) {
    return this.transport.request('POST', this.address(id) + path`/deliveries/${delivery}/retry`);
  }

  /** Retries the oldest 1000 dead deliveries; returns how many, and how many are left. */
  retryDead(id) {
    return this.transport.request('POST', `${this.address(id)}/deliveries/retry`);
  }
}

/** People who sign in from a browser; for keys with the scope admin. An id or the e-mail address names one. */
class Users extends Collection {
  /** Renames, disables or promotes a user. */
  update(id, change) {
    return this.transport.request('PATCH', this.address(id), { json: change });
  }

  /** Makes a link with which the user sets a password, once. */
  link(id) {
    return this.transport.request('POST', `${this.address(id)}/link`);
  }

  /** Lists a user's sessions in browsers. */
  async sessions(id) {
    return (await this.transport.request('GET', `${this.address(id)}/sessions`)).items;
  }

  /** Ends all sessions of a user. */
  async signOut(id) {
    await this.transport.request('DELETE', `${this.address(id)}/sessions`);
  }
}

/** Organisations above projects, and their members. */
class Organizations extends Collection {
  async list() {
    return (await this.transport.request('GET', this.base)).items;
  }

  /** Renames an organisation. */
  update(id, change) {
    return this.transport.request('PATCH', this.address(id), { json: change });
  }

  async members(id) {
    return (await this.transport.request('GET', `${this.address(id)}/members`)).items;
  }

  /** Adds a member, or changes its role: member, admin or owner. */
  setMember(id, user, role) {
    return this.transport.request('PUT', `${this.address(id)}/members`, { json: { user, role } });
  }

  async removeMember(id, user) {
    await this.transport.request('DELETE', this.address(id) + path`/members/${user}`);
  }
}

class Snapshots extends Collection {
  create(body) {
    const { sandbox, ...rest } = body;
    return this.transport.request('POST', path`/api/sandbox/instances/${sandbox}/snapshot`, { json: rest });
  }
}

/** Commands that run in the background. A job of a conversation is found with that conversation only. */
class Jobs {
  constructor(transport) {
    this.transport = transport;
  }

  async list(query = {}) {
    return (await this.transport.request('GET', '/v1/jobs', { query })).items;
  }

  get(id, query = {}) {
    return this.transport.request('GET', path`/v1/jobs/${id}`, { query });
  }

  logs(id, query = {}) {
    return this.transport.request('GET', path`/v1/jobs/${id}/logs`, { query });
  }

  stop(id, query = {}) {
    return this.transport.request('POST', path`/v1/jobs/${id}/stop`, { query });
  }
}

class Artifacts extends Collection {
  async bytes(id) {
    return this.transport.bytes(`${this.address(id)}/content`);
  }

  stream(id) {
    return this.transport.stream(`${this.address(id)}/content`);
  }

  /** Makes a URL that needs no key and expires after so many seconds. */
  async url(id, expiresInSeconds = 3600) {
    const { url } = await this.transport.request('POST', `${this.address(id)}/url`, { json: { expires_in_seconds: expiresInSeconds } });
    return this.transport.url + url;
  }
}

export class Atoll {
  constructor(options = {}) {
    this.transport = new Transport(options);
    this.leases = new Leases(this.transport);
    this.volumes = new Volumes(this.transport, '/api/sandbox/volumes');
    this.workspaces = new Collection(this.transport, '/v1/workspaces');
    this.ephemeral = new Ephemeral(this.transport);
    this.templates = new Templates(this.transport, '/api/sandbox/templates');
    this.builds = new Builds(this.transport, '/api/sandbox/templates/builds');
    this.credentials = new Credentials(this.transport, '/v1/credentials');
    this.connects = new Connects(this.transport, '/v1/connects');
    this.approvals = new Approvals(this.transport);
    this.consents = new Consents(this.transport);
    this.audit = new Audit(this.transport);
    this.quotas = new Quotas(this.transport);
    this.budgets = new Budgets(this.transport);
    this.webhooks = new Webhooks(this.transport, '/v1/webhooks');
    this.users = new Users(this.transport, '/v1/users');
    this.organizations = new Organizations(this.transport, '/v1/organizations');
    this.snapshots = new Snapshots(this.transport, '/api/sandbox/snapshots');
    this.artifacts = new Artifacts(this.transport, '/api/sandbox/artifacts');
    this.jobs = new Jobs(this.transport);
    const transport = this.transport;
    this.sandboxes = {
      create: (body = {}) => Sandbox.create({ ...body, transport }),
      connect: (id) => Sandbox.connect(id, { transport }),
      list: (query = {}) => Sandbox.list({ ...query, transport }),
      kill: (id, { keep } = {}) => Sandbox.kill(id, { keep, transport }),
      undelete: (id) => Sandbox.undelete(id, { transport }),
      trash: () => Sandbox.trash({ transport }),
    };
  }

  withSandbox(key, fn, options) {
    return this.leases.with(key, fn, options);
  }

  /** Gets usage and cost by group. */
  usage(query = {}) {
    return this.transport.request('GET', '/v1/usage', { query });
  }

  /** Lists the agent tools with their schemas. */
  async tools() {
    return (await this.transport.request('GET', '/v1/tools')).tools;
  }

  balance() {
    return this.transport.request('GET', '/v1/balance');
  }

  /** Makes any call of the API and returns its JSON. */
  request(method, where, call) {
    return this.transport.request(method, where, call);
  }

  /** Yields events as they happen until the signal is aborted. After a broken connection it continues after the last event. */
  events({ sandbox, kind, ...options } = {}) {
    return this.#follow('/v1/events', { sandbox, kind }, options);
  }

  /** Yields what was called in sandboxes, as the calls end, until the signal is aborted. After a broken connection it continues after the last row. */
  activity({ sandbox, kind, user, key, conversation, ...options } = {}) {
    return this.#follow('/v1/activity', { sandbox, kind, user, key, conversation }, options);
  }

  async *#follow(where, filters, { after, last, signal }) {
    let known = after;
    let newest = last;
    // Without a first sequence number, rows between two connections would be lost.
    if (known === undefined && newest === undefined)
      known = (await this.transport.request('GET', where, { query: { last: 1 }, signal })).after;
    let waitMs = RECONNECT_WAIT_MS;
    for (;;) {
      try {
        const headers = known === undefined ? {} : { 'Last-Event-ID': String(known) };
        const call = { query: { ...filters, last: newest, stream: 'sse' }, headers, signal };
        for await (const { data } of events(this.transport, 'GET', where, call)) {
          const row = JSON.parse(data);
          if (row.sequence !== undefined) known = row.sequence;
          if (row.sequence !== undefined) newest = undefined;
          waitMs = RECONNECT_WAIT_MS;
          yield row;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof ConnectionError) && error?.status !== 502 && error?.status !== 503) throw error;
      }
      try {
        await sleep(waitMs, signal);
      } catch {
        return;
      }
      waitMs = Math.min(waitMs * 2, RECONNECT_WAIT_MAX_MS);
    }
  }
}
