// SPDX-License-Identifier: Apache-2.0
// Blocks of code, in contexts that keep variables (docs/use/code.md) or in processes of their own.
import { Kept, OUTPUT_LIMIT, exitResult, start } from './commands.js';
import { ConnectionError, InvalidRequestError, errorOfEvent } from './errors.js';
import { path } from './http.js';
import { events } from './sse.js';

// What only a process of its own has.
const OF_A_PROCESS = ['cwd', 'user', 'stdin', 'tty', 'rows', 'columns', 'label', 'background', 'conversation', 'origin'];

const encoder = new TextEncoder();

function idOf(context) {
  return typeof context === 'object' ? context.id : context;
}

function textOf(results) {
  return results.find((result) => result.is_main)?.text;
}

/** Interpreters of a sandbox that keep variables, functions and folder between blocks. */
class Contexts {
  constructor(sandbox) {
    this.sandbox = sandbox;
  }

  address(context, rest = '') {
    const where = path`/api/sandbox/instances/${this.sandbox.id}/code/contexts`;
    return context === undefined ? where : where + path`/${idOf(context)}` + rest;
  }

  /** Starts an interpreter: python (default), javascript, typescript, bash, r or java. */
  create(options = {}) {
    return this.sandbox.transport.request('POST', this.address(), { json: options });
  }

  /** Lists the contexts, oldest first. */
  async list() {
    return (await this.sandbox.transport.request('GET', this.address())).items;
  }

  get(context) {
    return this.sandbox.transport.request('GET', this.address(context));
  }

  /** Interrupts the block that runs, as Ctrl-C does. Variables are kept. */
  interrupt(context) {
    return this.sandbox.transport.request('POST', this.address(context, '/interrupt'));
  }

  /** Starts the interpreter again. Its variables are lost; its id stays. */
  restart(context) {
    return this.sandbox.transport.request('POST', this.address(context, '/restart'));
  }

  /** Ends the interpreter and deletes the context. */
  async remove(context) {
    await this.sandbox.transport.request('DELETE', this.address(context));
  }
}

function refuseOthers(options) {
  for (const name of OF_A_PROCESS)
    if (options[name] !== undefined && options[name] !== false)
      throw new InvalidRequestError(
        `${name} cannot be used in a context: pass context: null to run the code in a process of its own` +
          (name === 'cwd' ? ', or create a context with contexts.create({cwd})' : ''),
        { code: 'invalid_request' },
      );
}

/** A block that runs in a context. The connection is its life: the server interrupts a block whose client has gone. */
class Block {
  constructor(options) {
    this.options = options;
    const limit = options.outputLimitBytes ?? OUTPUT_LIMIT;
    this.kept = { stdout: new Kept(limit), stderr: new Kept(limit) };
    this.results = [];
    this.artifacts = [];
    this.error = null;
  }

  async take({ event, data }) {
    const told = JSON.parse(data);
    const { onStdout, onStderr, onResult, onError, onArtifact } = this.options;
    if (event === 'stdout' || event === 'stderr') {
      const bytes = encoder.encode(told.data);
      this.kept[event].add(bytes);
      await (event === 'stdout' ? onStdout : onStderr)?.(told.data, bytes);
    } else if (event === 'result') {
      this.results.push(told.result);
      await onResult?.(told.result);
    } else if (event === 'artifact') {
      this.artifacts.push(told.artifact);
      await onArtifact?.(told.artifact);
    } else if (event === 'error' && told.name !== undefined) {
      this.error = { name: told.name, value: told.value, traceback: told.traceback };
      await onError?.(this.error);
    } else if (event === 'error') {
      throw errorOfEvent(data);
    } else if (event === 'exit') {
      return told;
    }
    return undefined;
  }

  result(exit) {
    return {
      ...exitResult(exit, this),
      text: textOf(this.results),
      results: this.results,
      error: this.error,
      executionCount: exit.execution_count,
      context: exit.contextId,
      contextEnded: exit.context_ended,
      recording: exit.recording,
    };
  }
}

export class Code {
  constructor(sandbox) {
    this.sandbox = sandbox;
    this.contexts = new Contexts(sandbox);
  }

  /**
   * Runs a block of python (default), javascript, typescript, bash, r or java.
   *
   * Variables, functions and the folder are kept from block to block in the language's default context, or in another one that
   * `context` names (an id, or an answer of contexts.create). `context: null` runs the block in a process of its own that keeps
   * nothing; it takes all options of commands.run. java runs in contexts only.
   * An exception is not thrown here: it is `error` of the answer.
   */
  async run(code, { language: asked, context = 'default', ...options } = {}) {
    const language = asked ?? context?.language ?? 'python';
    return context === null ? this.runAlone(code, language, options) : this.runIn(idOf(context), code, language, options);
  }

  async runAlone(code, language, options) {
    const result = await start(this.sandbox, '/code', { language, code }, options);
    if (options.background) return result;
    return { ...result, text: undefined, results: [], error: null, executionCount: null, context: null, contextEnded: false };
  }

  async runIn(contextId, code, language, options) {
    refuseOthers(options);
    const { env, timeoutMs, artifacts, record, signal } = options;
    const block = new Block(options);
    const json = { language, code, contextId, env, artifacts, record, timeout_ms: timeoutMs };
    const call = { query: { stream: 'sse' }, json, signal };
    for await (const event of events(this.sandbox.transport, 'POST', path`/api/sandbox/instances/${this.sandbox.id}/code`, call)) {
      const exit = await block.take(event);
      if (exit) return block.result(exit);
    }
    throw new ConnectionError('the stream ended before the block of code', { code: 'connection' });
  }
}
