// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox. Relative paths are below its default folder.
import { NotFoundError, errorOfEvent } from './errors.js';
import { path } from './http.js';
import { events } from './sse.js';

// A stream may be long: the clock measures silence, not its length.
const STREAM_SILENCE_MS = 120000;

function isStream(data) {
  return typeof data?.getReader === 'function' || typeof data?.[Symbol.asyncIterator] === 'function';
}

function streamOf(data) {
  if (typeof data.getReader === 'function') return data;
  const iterator = data[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === 'string' ? new TextEncoder().encode(value) : value);
    },
    async cancel(reason) {
      await iterator.return?.(reason);
    },
  });
}

/** What files of a sandbox and of a volume have in common. */
class AllFiles {
  constructor(transport, base) {
    this.transport = transport;
    this.base = base;
    this.appendMethod = 'POST';
  }

  address(rest = '') {
    return this.base + rest;
  }

  /** Reads a file as text (UTF-8), or with `format` as 'bytes' or 'stream'. */
  async read(name, { format = 'text', offset, length, user, signal, timeoutMs } = {}) {
    const call = { query: { path: name, offset, length, user }, signal, timeoutMs };
    if (format === 'stream') return this.transport.stream(this.address('/content'), call);
    const bytes = await this.transport.bytes(this.address('/content'), call);
    return format === 'bytes' ? bytes : new TextDecoder().decode(bytes);
  }

  /** Writes a file from a text, bytes, a Blob, a stream or an async iterable. Missing folders are created. */
  async write(name, data, { mode, append, noReplace, user, signal, timeoutMs } = {}) {
    const streamed = isStream(data);
    return this.transport.request(append ? this.appendMethod : 'PUT', this.address('/content'), {
      query: { path: name, mode, append, no_replace: noReplace, user },
      headers: { 'Content-Type': 'application/octet-stream' },
      body: streamed ? streamOf(data) : data,
      // What is appended twice is there twice: such a call is sent once.
      streamsBody: streamed || append,
      signal,
      timeoutMs: timeoutMs ?? (streamed ? 0 : undefined),
    });
  }

  async list(name = '.', { depth, limit, user } = {}) {
    const { items } = await this.transport.request('GET', this.address(), {
      query: { path: name, depth, limit, user },
    });
    return items;
  }

  async stat(name, { follow, user } = {}) {
    return this.transport.request('GET', this.address('/stat'), { query: { path: name, follow, user } });
  }

  async exists(name, options) {
    try {
      await this.stat(name, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  post(what, json) {
    return this.transport.request('POST', this.address(what), { json });
  }

  async rename(from, to, { parents, noReplace, user } = {}) {
    return this.post('/rename', { path: from, target: to, parents, no_replace: noReplace, user });
  }

  /** Creates a folder and its missing parents. An existing folder is no error. */
  async mkdir(name, { mode, parents = true, user } = {}) {
    return this.post('/mkdir', { path: name, mode, parents, user });
  }

  /** Copies a file of this computer to the other side. */
  async upload(local, name, options = {}) {
    const { createReadStream } = await import('node:fs');
    return this.write(name, createReadStream(local), options);
  }

  /** Copies a file to this computer. An incomplete copy is removed. */
  async download(name, local, { user, signal } = {}) {
    const { createWriteStream } = await import('node:fs');
    const { rename, rm } = await import('node:fs/promises');
    const { Readable } = await import('node:stream');
    const { pipeline } = await import('node:stream/promises');
    const beside = `${local}.part-${Math.random().toString(36).slice(2)}`;
    try {
      const bytes = await this.read(name, { format: 'stream', user, signal, timeoutMs: STREAM_SILENCE_MS });
      await pipeline(Readable.fromWeb(bytes), createWriteStream(beside, { flags: 'wx' }));
      await rename(beside, local);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  }

  /** Reads a folder as a tar. */
  async archive(name = '.', { user, signal } = {}) {
    const call = { query: { path: name, user }, signal, timeoutMs: STREAM_SILENCE_MS };
    return this.transport.stream(this.address('/tar'), call);
  }

  /** Unpacks a tar into a folder. */
  async extract(name, tar, { user, signal } = {}) {
    const streamed = isStream(tar);
    return this.transport.request('POST', this.address('/tar'), {
      query: { path: name, user },
      headers: { 'Content-Type': 'application/x-tar' },
      body: streamed ? streamOf(tar) : tar,
      streamsBody: streamed,
      signal,
      timeoutMs: 0,
    });
  }
}

export class Files extends AllFiles {
  constructor(sandbox) {
    super(sandbox.transport, path`/api/sandbox/instances/${sandbox.id}/files`);
  }

  /** Removes a file; a folder with all that is in it if `recursive`. Returns the number of removed entries. */
  async remove(name, { recursive, user } = {}) {
    return (await this.post('/remove', { path: name, recursive, user })).count;
  }

  /** Finds names and lines that contain the text. */
  async search(text, { path: folder = '.', ...query } = {}) {
    return this.transport.request('GET', this.address('/search'), { query: { q: text, path: folder, ...query } });
  }

  /** Makes a link by which the file can be downloaded without a key, for seconds (default 300, at most 3600). */
  async link(name, { expiresIn, user } = {}) {
    const json = { path: name, user, expires_in_s: expiresIn };
    return this.transport.request('POST', this.address('/link'), { json });
  }

  async copy(from, to, { recursive, parents, noReplace, user } = {}) {
    return this.post('/copy', { path: from, target: to, recursive, parents, no_replace: noReplace, user });
  }

  /** Yields the changes below a folder until the signal is aborted. */
  async *watch(name = '.', { recursive, user, signal, onReady } = {}) {
    const call = { query: { path: name, recursive, user, stream: 'sse' }, signal };
    try {
      for await (const { event, data } of events(this.transport, 'GET', this.address('/watch'), call)) {
        if (event === 'ready') onReady?.();
        else if (event === 'error') throw errorOfEvent(data);
        else yield JSON.parse(data);
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}

/** Files of a volume, whether or not a sandbox has it attached. */
export class VolumeFiles extends AllFiles {
  constructor(transport, volume) {
    super(transport, path`/api/sandbox/volumes/${volume}/files`);
    this.appendMethod = 'PUT';
  }

  /** Removes a file; a folder with all that is in it if `recursive`. */
  async remove(name, { recursive, user } = {}) {
    return (await this.transport.request('DELETE', this.address(), { query: { path: name, recursive, user } })).count;
  }
}
