// SPDX-License-Identifier: Apache-2.0
// TypeScript for a context: kernel_node.js has this text in its function, and gives each block to transpile(). A program of its own
// (embed.py) answers with its status whether the sandbox has a transpiler, before the kernel starts.
const FLAGS = {
  verbatimModuleSyntax: true, preserveValueImports: true, importsNotUsedAsValues: 'preserve', experimentalDecorators: true,
};

// The block's folder is the nearest; npm's global packages are beside the program's folder or in /usr/local.
function locate(name) {
  const path = require('path');
  const folders = [process.cwd(), path.join(path.dirname(process.execPath), '../lib'), '/usr/local/lib'];
  try {
    return require.resolve(name, { paths: [...folders, ...folders.map((folder) => `${folder}/node_modules/tsx`)] });
  } catch {
    return null;
  }
}

function refuse(text, line) {
  const error = new SyntaxError(text);
  error.stack = `SyntaxError: ${text}${line ? `\n    at line ${line} of the block` : ''}`;
  throw error;
}

// Node's own keeps the lines of a block. What stands for more than a type, such as an enum, it has to rewrite.
function ownStrip(strip) {
  return (code) => {
    for (const mode of ['strip', 'transform']) {
      try {
        return quietly(() => strip(code, { mode }));
      } catch (error) {
        if (error.code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') refuse(error.message.replace(/\s*\n[^]*/, ''));
        if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return null;
      }
    }
    return null;
  };
}

// A Node whose function is not final says so at its first call.
function quietly(run) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return run();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function compiled(ts) {
  const options = {
    ...FLAGS, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, removeComments: false,
    importsNotUsedAsValues: ts.ImportsNotUsedAsValues?.Preserve,
  };
  if (Number(ts.version.split('.')[0]) >= 5) {
    delete options.importsNotUsedAsValues;
    delete options.preserveValueImports;
  }
  return (code) => {
    const { outputText, diagnostics } = ts.transpileModule(code, { fileName: 'block.ts', reportDiagnostics: true, compilerOptions: options });
    const first = diagnostics.find((one) => one.category === ts.DiagnosticCategory.Error && one.code < 2000);
    if (first) {
      const at = first.file?.getLineAndCharacterOfPosition(first.start).line;
      refuse(ts.flattenDiagnosticMessageText(first.messageText, '\n'), at === undefined ? 0 : at + 1);
    }
    return outputText;
  };
}

function built(esbuild) {
  return (code) => {
    try {
      const options = { loader: 'ts', target: 'esnext', logLevel: 'silent', tsconfigRaw: { compilerOptions: FLAGS } };
      return esbuild.transformSync(code, options).code;
    } catch (error) {
      if (!error.errors?.[0]) throw error;
      return refuse(error.errors[0].text, error.errors[0].location?.line);
    }
  };
}

function rewritten(sucrase) {
  return (code) => {
    try {
      return sucrase.transform(code, { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: true }).code;
    } catch (error) {
      return refuse(error.message);
    }
  };
}

const PACKAGES = [['typescript', compiled], ['esbuild', built], ['sucrase', rewritten]];
const known = new Map();

function own() {
  const strip = require('module').stripTypeScriptTypes;
  return typeof strip === 'function' ? ownStrip(strip) : null;
}

function transpilerOf(name, make) {
  if (!known.has(name)) {
    const file = locate(name);
    known.set(name, file ? make(require(file)) : null);
  }
  return known.get(name);
}

function hasTranspiler() {
  return own() !== null || PACKAGES.some(([name]) => locate(name));
}

// Null is of a transpiler that does not know what the block has: the next one may. Decorators are only the packages'.
function transpile(code) {
  const ways = PACKAGES.map(([name, make]) => () => transpilerOf(name, make));
  if (/(^|[\s{;}])@[\w$(]/.test(code)) ways.push(own);
  else ways.unshift(own);
  for (const way of ways) {
    const text = way()?.(code);
    if (typeof text === 'string') return text.replace(/(^|\n)export \{\s*\};?\s*$/, '$1');
  }
  return refuse('no transpiler of this sandbox knows what stands in the block; the npm package "typescript" does');
}
