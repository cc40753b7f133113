// SPDX-License-Identifier: Apache-2.0
// Commands: their output while they run, and their result. A broken stream is continued.
import { ConnectionError, NotFoundError, errorOfEvent } from './errors.js';
import { path, sleep } from './http.js';
import { events } from './sse.js';

export const OUTPUT_LIMIT = 16 * 1024 * 1024;
const RESUME_MS = 60000;
const RESUME_WAIT_MS = 100;
const RESUME_WAIT_MAX_MS = 2000;

const encoder = new TextEncoder();

function bytesOf(told) {
  if (told.encoding !== 'base64') return encoder.encode(told.data);
  return Uint8Array.from(atob(told.data), (c) => c.charCodeAt(0));
}

/** The first and the last bytes of a stream, as the server keeps them for a collected result. */
export class Kept {
  constructor(limit) {
    this.half = Math.ceil(limit / 2);
    this.head = [];
    this.headSize = 0;
    this.tail = [];
    this.tailSize = 0;
    this.cut = 0;
  }

  add(bytes) {
    const room = Math.min(bytes.length, this.half - this.headSize);
    if (room > 0) this.head.push(bytes.subarray(0, room));
    this.headSize += room;
    if (room === bytes.length) return;
    this.tail.push(bytes.subarray(room));
    this.tailSize += bytes.length - room;
    while (this.tailSize > this.half) {
      const over = Math.min(this.tail[0].length, this.tailSize - this.half);
      if (over === this.tail[0].length) this.tail.shift();
      else this.tail[0] = this.tail[0].subarray(over);
      this.tailSize -= over;
      this.cut += over;
    }
  }

  lose(count) {
    this.cut += count;
  }

  text() {
    const join = (pieces, size) => {
      const all = new Uint8Array(size);
      let at = 0;
      for (const piece of pieces) {
        all.set(piece, at);
        at += piece.length;
      }
      return new TextDecoder().decode(all);
    };
    if (this.cut === 0) return join([...this.head, ...this.tail], this.headSize + this.tailSize);
    const marker = `\n[${this.cut} bytes of output were cut here]\n`;
    return join(this.head, this.headSize) + marker + join(this.tail, this.tailSize);
  }
}

/** The members that the results of commands and of code share; the second argument has collected the output. */
export function exitResult(exit, { kept, artifacts }) {
  return {
    ok: exit.ok,
    exitCode: exit.exit_code,
    signal: exit.signal,
    timedOut: exit.timed_out,
    cause: exit.cause,
    durationMs: exit.duration_ms,
    process: exit.process,
    stdout: kept.stdout.text(),
    stderr: kept.stderr.text(),
    truncated: kept.stdout.cut + kept.stderr.cut > 0,
    artifacts,
    network: exit.network ?? [],
  };
}

/** A command that runs, or has ended. */
export class CommandHandle {
  constructor(sandbox, options) {
    this.sandbox = sandbox;
    this.options = options;
    this.process = undefined;
    this.pid = undefined;
    this.since = '0.0';
    this.artifacts = [];
    const limit = options.outputLimitBytes ?? OUTPUT_LIMIT;
    this.kept = { stdout: new Kept(limit), stderr: new Kept(limit) };
    this.told = { stdout: 0, stderr: 0 };
  }

  get stdout() {
    return this.kept.stdout.text();
  }

  get stderr() {
    return this.kept.stderr.text();
  }

  address(rest = '') {
    return path`/api/sandbox/instances/${this.sandbox.id}/processes/${this.process}` + rest;
  }

  /** Waits for the end and returns the result; continues a broken stream. May be called again. */
  wait() {
    this.ending ??= this.follow();
    return this.ending;
  }

  async follow(first) {
    const { signal } = this.options;
    let broken;
    let waitMs = RESUME_WAIT_MS;
    let source = first;
    for (;;) {
      try {
        source ??= events(this.sandbox.transport, 'GET', this.address('/stream'), {
          query: { stream: 'sse', follow: true, since: this.since },
          signal,
        });
        for await (const event of source) {
          broken = undefined;
          waitMs = RESUME_WAIT_MS;
          const exit = await this.take(event);
          if (exit) return this.result(exit);
        }
        throw new ConnectionError('the stream ended before the command', { code: 'connection' });
      } catch (error) {
        if (signal?.aborted) {
          await this.kill().catch(() => {});
          throw error;
        }
        const resumable = error instanceof ConnectionError || error?.status === 502 || error?.status === 503;
        broken ??= Date.now();
        if (!resumable || this.process === undefined || Date.now() - broken > RESUME_MS) throw error;
        await sleep(waitMs, signal);
        waitMs = Math.min(waitMs * 2, RESUME_WAIT_MAX_MS);
        source = undefined;
      }
    }
  }

  async take({ event, data }) {
    const told = JSON.parse(data);
    if (told.since !== undefined) this.since = told.since;
    if (event === 'started') {
      this.process = told.process;
      this.pid = told.pid;
    } else if (event === 'stdout' || event === 'stderr') {
      const bytes = bytesOf(told);
      if (told.offset > this.told[event]) this.kept[event].lose(told.offset - this.told[event]);
      this.told[event] = told.offset + bytes.length;
      this.kept[event].add(bytes);
      const tell = event === 'stdout' ? this.options.onStdout : this.options.onStderr;
      await tell?.(told.encoding === 'base64' ? new TextDecoder().decode(bytes) : told.data, bytes);
    } else if (event === 'artifact') {
      this.artifacts.push(told.artifact);
      await this.options.onArtifact?.(told.artifact);
    } else if (event === 'error') {
      throw errorOfEvent(data);
    } else if (event === 'exit') {
      return told;
    }
    return undefined;
  }

  result(exit) {
    return { ...exitResult(exit, this), cause: exit.cause ?? 'exit', process: this.process, recording: exit.recording };
  }

  /** Sends a signal to the command and its child processes; false if it had ended. */
  async kill(signal = 'SIGKILL') {
    if (this.process === undefined) return false;
    try {
      await this.sandbox.transport.request('POST', this.address('/signal'), { json: { signal, tree: true } });
      return true;
    } catch (error) {
      if (error?.code === 'conflict' || error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Writes bytes to the standard input of a command that was started with `stdin: true`. */
  async sendStdin(data, { end = false } = {}) {
    await this.sandbox.transport.request('POST', this.address('/stdin'), {
      query: { end: end || undefined },
      headers: { 'Content-Type': 'application/octet-stream' },
      body: data,
    });
  }

  async closeStdin() {
    await this.sendStdin('', { end: true });
  }

  async info() {
    return this.sandbox.transport.request('GET', this.address());
  }
}

function bodyOf(options) {
  return {
    cwd: options.cwd,
    env: options.env,
    user: options.user,
    stdin: typeof options.stdin === 'string' ? options.stdin : undefined,
    stdin_open: options.stdin === true || undefined,
    timeout_ms: options.timeoutMs,
    tty: options.tty,
    rows: options.rows,
    columns: options.columns,
    label: options.label,
    conversation: options.conversation,
    origin: options.origin,
    artifacts: options.artifacts,
    record: options.record,
  };
}

/** Starts a command and waits for its result, or returns its handle. */
export async function start(sandbox, operation, what, options) {
  const where = path`/api/sandbox/instances/${sandbox.id}` + operation;
  const handle = new CommandHandle(sandbox, options);
  const body = { ...what, ...bodyOf(options) };
  if (options.background) {
    const started = await sandbox.transport.request('POST', where, {
      json: { ...body, background: true },
      signal: options.signal,
    });
    handle.process = started.process;
    handle.pid = started.pid;
    handle.resultId = started.resultId;
    handle.recording = started.recording;
    if (options.onStdout || options.onStderr) handle.wait().catch(() => {});
    return handle;
  }
  handle.ending = handle.follow(
    events(sandbox.transport, 'POST', where, { query: { stream: 'sse' }, json: body, signal: options.signal }),
  );
  return handle.ending;
}

export class Commands {
  constructor(sandbox) {
    this.sandbox = sandbox;
  }

  /** Runs a line of the shell, or {cmd, args} without a shell. */
  async run(command, options = {}) {
    if (typeof command === 'string') return start(this.sandbox, '/exec', { command }, options);
    const { cmd, args, ...more } = command;
    return start(this.sandbox, '/exec', { cmd, args: args ?? [] }, { ...more, ...options });
  }

  async list() {
    const { items } = await this.sandbox.transport.request('GET', path`/api/sandbox/instances/${this.sandbox.id}/processes`);
    return items;
  }

  /** Returns the handle of a running command. Its output is read from the beginning. */
  async connect(process, options = {}) {
    const handle = new CommandHandle(this.sandbox, options);
    handle.process = process;
    handle.pid = (await handle.info()).pid;
    if (options.onStdout || options.onStderr) handle.wait().catch(() => {});
    return handle;
  }

  async kill(process, signal = 'SIGKILL') {
    const handle = new CommandHandle(this.sandbox, {});
    handle.process = process;
    return handle.kill(signal);
  }
}
