// SPDX-License-Identifier: Apache-2.0
// The JavaScript of a context, and its TypeScript with kernel_typescript.js inside: Node's own REPL without its terminal, inside
// the sandbox; code/code.h tells how it is talked to. What is written to stdout and stderr goes out at once and in order.
// What is declared here is no name of the blocks'.
(() => {
const domain = require('domain');
const fs = require('fs');
const repl = require('repl');
const util = require('util');
const vm = require('vm');
const { Readable, Writable } = require('stream');

const PIECE_MAX = 4000;
const HEAD_SIZE = 35;
const LATE_INTERRUPT_MS = 10;
const TEXT_MAX = 256 << 10;
const MIME_MAX = 8 << 20;
const HOOKS = ['html', 'markdown', 'svg', 'png', 'jpeg', 'pdf', 'latex', 'json', 'javascript'];
const MIMES = {
  'text/plain': 'text', 'text/html': 'html', 'text/markdown': 'markdown', 'image/svg+xml': 'svg', 'image/png': 'png',
  'image/jpeg': 'jpeg', 'application/pdf': 'pdf', 'text/latex': 'latex', 'application/json': 'json',
  'application/javascript': 'javascript',
};

let nonce = '';
let count = 0;
let cancel = null; // ends the wait for a promise
let wasInterrupted = false; // the last block
const { setImmediate, setTimeout } = globalThis; // blocks may replace them

// ---- to the server ----

function writeAll(fd, data) {
  for (let at = 0; at < data.length;) {
    try {
      at += fs.writeSync(fd, data, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

function send(message) {
  const text = JSON.stringify(message).replace(/\\u0000/g, '\ufffd');
  const data = Buffer.from(text.isWellFormed ? text.toWellFormed() : text);
  for (let at = 0; at < data.length; at += PIECE_MAX) {
    const more = at + PIECE_MAX < data.length ? '+' : '.';
    writeAll(1, Buffer.concat([Buffer.from(`\x1e${nonce}${more}`), data.subarray(at, at + PIECE_MAX), Buffer.from('\n')]));
  }
}

function write(isError, chunk, encoding) {
  const data = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk);
  if (!isError || !nonce) writeAll(isError ? 2 : 1, data);
  else for (let at = 0; at < data.length; at += TEXT_MAX) {
    send({ type: 'stderr', text: data.subarray(at, at + TEXT_MAX).toString() });
  }
}

function replaceStream(name, isError) {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      write(isError, chunk, encoding);
      done();
    },
  });
  stream.fd = isError ? 2 : 1;
  stream.isTTY = false;
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true });
}

// ---- results ----

function hooked(value) {
  const known = {};
  const others = {};
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return [known, others];
  try {
    const bundle = typeof value._repr_mimebundle_ === 'function' ? value._repr_mimebundle_() : {};
    for (const [mime, data] of Object.entries(bundle ?? {})) {
      if (MIMES[mime]) known[MIMES[mime]] = data;
      else others[mime] = data;
    }
    for (const name of HOOKS) {
      const hook = value[`_repr_${name}_`];
      const data = typeof hook === 'function' && !(name in known) ? hook.call(value) : undefined;
      if (data !== undefined && data !== null) known[name] = data;
    }
  } catch { /* one representation less */ }
  return [known, others];
}

function tellValue(value, isMain) {
  const [known, others] = hooked(value);
  const message = { type: 'result', main: isMain };
  if (!('text' in known)) known.text = typeof value === 'string' ? value : util.inspect(value);
  if (Object.keys(others).length > 0) known.extra = others;
  for (const [name, data] of Object.entries(known)) {
    let told = data;
    if (name !== 'json' && name !== 'extra') {
      told = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : String(data);
    }
    const size = JSON.stringify(told)?.length ?? 0;
    if (size > MIME_MAX) process.stderr.write(`the result's ${name} is left out: ${size} bytes\n`);
    else if (size > 0) message[name] = told;
  }
  send(message);
}

function tellError(error) {
  const isError = error !== null && typeof error === 'object' && 'stack' in error;
  const trace = String((isError && error.stack) || util.inspect(error));
  const lines = trace.split('\n');
  const ours = lines.findIndex((line) => /^\s+at .*(REPLServer|node:vm|\[eval\])/.test(line));
  send({
    type: 'error',
    name: String((isError && error.name) || 'Error').slice(0, TEXT_MAX),
    value: String(isError ? error.message : util.inspect(error)).slice(0, TEXT_MAX),
    traceback: (ours > 0 ? lines.slice(0, ours) : lines).join('\n').slice(0, TEXT_MAX),
  });
}

// ---- code ----

const nothing = new Writable({ write(chunk, encoding, done) { done(); } });
const errors = domain.create(); // the REPL tells what a block throws to it
const server = repl.start({
  input: new Readable({ read() {} }), output: nothing, terminal: false, prompt: '', useGlobal: true,
  ignoreUndefined: true, writer: () => '', domain: errors,
});
errors.removeAllListeners('error');
errors.on('error', (error) => {
  if (cancel) cancel(error);
  else if (nonce) tellError(error);
});

// Whole, the word would keep this text from a Node that was started ahead (agent/warm_node.js).
const WORD = 'im' + 'port';
const DECLARED = new RegExp(`^${WORD}(?:\\s+|\\s*(?=[{*'"]))(?:([\\w$*{}\\s,]+?)\\s*from\\s*)?(['"])([^'"\\n]+)\\2[ \\t]*;?`);

// `import … from '…'` of a module's text as what a script can do: [text, size], or null.
function importable(code) {
  const found = DECLARED.exec(code);
  if (!found) return null;
  const parts = (found[1] ?? '').match(/\{[^}]*\}|\*\s*as\s+[\w$]+|[\w$]+/g) ?? [];
  const module = `await ${WORD}(${JSON.stringify(found[3])})`;
  const names = parts.map((part) => {
    if (part[0] === '{') return part.slice(1, -1).replace(/\s+as\s+/g, ': ');
    return part[0] === '*' ? '' : `default: ${part}`;
  }).filter(Boolean);
  const whole = parts.find((part) => part[0] === '*')?.split(/\s+as\s+/)[1];
  const out = [whole && `var ${whole} = ${module};`, names.length > 0 && `var { ${names.join(', ')} } = ${module};`].filter(Boolean);
  return [out.join(' ') || `${module};`, found[0].length];
}

// A block may be run again: what it declares on its outermost level may be declared again. Texts, comments and what
// stands in brackets are passed over; a slash begins an expression where a value cannot end.
function redeclarable(code) {
  let out = '';
  let depth = 0;
  let last = '';
  let isFresh = true; // nothing but blanks since the line began
  for (let i = 0; i < code.length;) {
    const rest = code.slice(i, i + 2);
    let end = i + 1;
    if (rest === '//') end = (code.indexOf('\n', i) + code.length + 1) % (code.length + 1) || code.length;
    else if (rest === '/*') end = (code.indexOf('*/', i + 2) + 2) || code.length;
    else if (code[i] === '"' || code[i] === "'" || code[i] === '`' || (code[i] === '/' && !/[\w$)\]}]/.test(last))) {
      let isClass = false; // of a regular expression
      while (end < code.length && (isClass || code[end] !== code[i])) {
        if (code[i] === '/' && '[]'.includes(code[end])) isClass = code[end] === '[';
        end += code[end] === '\\' ? 2 : 1;
      }
      end++;
    } else if (/[A-Za-z_$]/.test(code[i])) {
      while (end < code.length && /[\w$]/.test(code[end])) end++;
      const word = code.slice(i, end);
      const begins = last === '' || last === ';' || last === '}' || isFresh;
      isFresh = false;
      const imported = depth === 0 && word === WORD && begins ? importable(code.slice(i)) : null;
      if (imported) {
        out += imported[0];
        last = ';';
        i += imported[1];
        continue;
      }
      const isDeclaration = depth === 0 && (word === 'const' || word === 'let') && /^\s+[\w$[{]/.test(code.slice(end, end + 80)) && begins;
      out += isDeclaration ? 'var' : word;
      last = word.slice(-1);
      i = end;
      continue;
    } else if ('([{'.includes(code[i])) depth++;
    else if (')]}'.includes(code[i])) depth--;
    const piece = code.slice(i, end);
    out += piece;
    if (piece === '\n') isFresh = true;
    else if (!/^\s/.test(piece) && rest !== '//' && rest !== '/*') {
      last = piece.slice(-1);
      isFresh = false;
    }
    i = end;
  }
  return out;
}

// An interrupt ends all that runs within, also code that never waits.
function breakable(run) {
  const name = Symbol.for('atoll.run');
  globalThis[name] = run;
  try {
    vm.runInThisContext("globalThis[Symbol.for('atoll.run')]()", { breakOnSigint: true });
  } catch (error) {
    errors.exit();
    throw error;
  } finally {
    delete globalThis[name];
  }
}

function isInterrupt(error) {
  return error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
}

// The server interrupts a block only after the block has begun. An interrupt that arrives earlier was meant for the last
// block: Node keeps an interrupt that came while a script ended, and gives it to the next script.
function begin(run) {
  for (let hasBegun = false; !hasBegun;) {
    try {
      breakable(() => {
        send({ type: 'begin', count });
        hasBegun = true;
        run();
      });
    } catch (error) {
      if (hasBegun || !isInterrupt(error)) throw error;
    }
  }
}

// What the REPL is given of a block, or what is wrong with it: that is told once the block has begun.
function prepare(code) {
  try {
    return [redeclarable(typeof transpile === 'function' ? transpile(code) : code), null];
  } catch (error) {
    return ['', error];
  }
}

function evaluate(code) {
  return new Promise((resolve, reject) => {
    const [text, refusal] = prepare(code);
    cancel = reject;
    begin(() => {
      if (refusal) reject(refusal);
      else server.eval(text, server.context, `<cell ${count}>`, (error, value) => {
        if (error) reject(error instanceof repl.Recoverable ? error.err : error);
        else resolve({ value });
      });
    });
  }).finally(() => {
    cancel = null;
  });
}

function interrupted() {
  const error = new Error('the block was interrupted');
  error.name = 'KeyboardInterrupt';
  error.stack = 'KeyboardInterrupt: the block was interrupted';
  return error;
}

process.on('SIGINT', () => cancel?.(interrupted()));
process.on('uncaughtException', (error) => {
  if (nonce) tellError(error);
});
process.on('unhandledRejection', (error) => {
  if (nonce) tellError(error);
});

function setEnvironment(entries) {
  const old = {};
  for (const entry of entries) {
    const at = entry.indexOf('=');
    if (at > 0) {
      old[entry.slice(0, at)] = process.env[entry.slice(0, at)];
      process.env[entry.slice(0, at)] = entry.slice(at + 1);
    }
  }
  return old;
}

function restoreEnvironment(old) {
  for (const [key, value] of Object.entries(old)) {
    if (value === undefined) delete process.env[key];
    else process.env[key] = value;
  }
}

// An interrupt that was sent as the last block ended is still on its way through Node's event loop or its signal thread. It
// is spent here, where it ends nothing.
function spendInterrupt() {
  return new Promise((resolve) => (wasInterrupted ? setTimeout(resolve, LATE_INTERRUPT_MS) : setImmediate(resolve)));
}

async function run(code, env) {
  await spendInterrupt();
  wasInterrupted = false;
  count++;
  const old = setEnvironment(env);
  try {
    const { value } = await evaluate(code);
    if (value !== undefined && !code.trimEnd().endsWith(';')) {
      globalThis._ = value;
      tellValue(value, true);
    }
  } catch (error) {
    wasInterrupted = isInterrupt(error) || error?.name === 'KeyboardInterrupt';
    tellError(isInterrupt(error) ? interrupted() : error);
  }
  restoreEnvironment(old);
  send({ type: 'end' });
  writeAll(2, Buffer.from(`\x1e${nonce}.\n`));
}

// ---- from the server ----

async function serve() {
  let kept = Buffer.alloc(0);
  for await (const part of process.stdin) {
    kept = Buffer.concat([kept, part]);
    while (kept.length >= HEAD_SIZE) {
      const [word, codeSize, envSize] = kept.toString('latin1', 0, HEAD_SIZE).trim().split(' ');
      const envAt = HEAD_SIZE + Number(codeSize);
      const end = envAt + Number(envSize);
      if (kept.length < end) break;
      const code = kept.toString('utf8', HEAD_SIZE, envAt);
      const env = kept.toString('utf8', envAt, end).split('\0');
      kept = kept.subarray(end);
      nonce = word;
      await run(code, env);
      nonce = '';
    }
  }
  process.exit(0);
}

replaceStream('stdout', false);
replaceStream('stderr', true);
globalThis.console = new console.Console(process.stdout, process.stderr);
globalThis.display = (...values) => values.forEach((value) => tellValue(value, false));
serve();
})();
