// SPDX-License-Identifier: Apache-2.0
// A Node.js interpreter that has started already, inside the sandbox; agent/warm.h tells the whole.
//
// Node can neither fork nor be given descriptors, so this one is a command whose streams the agent
// has made beforehand, with three more descriptors: a socket, a file in memory and a token. The file
// holds this text, the folder that modules are looked for from and their names; once they are there
// it says so on the socket and waits for the byte that means: the file now holds one call. What
// happens here must look to that code as if `node -e CODE` had just been executed; where it would
// not, this process ends without taking the token, and the agent does execute it.
(function (require) {
'use strict';
const CONTROL = 3, ORDER = 4, TOKEN = 5;
const NOT_NOW = 10, STALE = 11;
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const Module = require('module');
const major = parseInt(process.versions.node, 10);

function end(status) {
	process.reallyExit(status);
}

function readOrder() {
	const bytes = Buffer.alloc(fs.fstatSync(ORDER).size);
	fs.readSync(ORDER, bytes, 0, bytes.length, 0);
	return bytes.toString('utf8').split('\0');
}

// ---- what a cold start would see that we have not ----

function look(name) {
	const status = fs.statSync(name, { bigint: true, throwIfNoEntry: false });
	// No numbers of devices and files: a snapshot gives a sandbox another root with the same files.
	return status ? `${status.mtimeNs} ${status.size} ${status.mode}` : '';
}

function isThere(name) {
	return fs.statSync(name, { throwIfNoEntry: false }) !== undefined;
}

function program(folders) {
	for (const folder of folders.split(':')) {
		try {
			fs.accessSync(folder + '/node', fs.constants.X_OK);
			return folder && folder + '/node';
		} catch {
		}
	}
	return '';
}

// The file that says what a package is, and where one that is nearer would be.
function addPackage(names, file) {
	let folder = path.dirname(file);
	for (;;) {
		const name = path.join(folder, 'package.json');
		names.add(name);
		if (folder === path.dirname(folder) || isThere(name))
			return;
		folder = path.dirname(folder);
	}
}

// Whether a file was changed while the modules were loaded: then its time may be newer than what was
// loaded of it. The kernel stamps files with a clock that runs up to 10 ms behind.
function isNewer(name, start) {
	const status = fs.statSync(name, { throwIfNoEntry: false });
	return status !== undefined && status.ctimeMs > start - 10;
}

// Files of what is loaded, and the folders in which something nearer could appear.
function sources(base) {
	const names = new Set(['/etc/localtime', '/etc/timezone', '/etc/resolv.conf']);
	for (const folder of [...Module._nodeModulePaths(base), ...Module.globalPaths])
		names.add(folder);
	for (const file of Object.keys(Module._cache)) {
		names.add(file);
		addPackage(names, file);
		for (const folder of Module._cache[file].paths)
			names.add(folder);
		const scope = /^(.*\/node_modules\/@[^/]+)\//.exec(file);
		if (scope)
			names.add(scope[1]);
	}
	return [...names].map((name) => [name, look(name)]);
}

function isStale(state, env) {
	const found = program(env.get('PATH') ?? '');
	return state.isMixed || found !== state.program || look(found) !== state.programWas ||
		state.sources.some(([name, was]) => look(name) !== was);
}

// ---- the call ----

function setEnvironment(env) {
	for (const name of Object.keys(process.env))
		if (!env.has(name))
			delete process.env[name];
	for (const [name, value] of env)
		if (process.env[name] !== value)
			process.env[name] = value;
}

// As `node -e` does it: since Node.js 19 the word alone would be the Web's crypto.
function source(code) {
	if (major >= 19 && /\bcrypto\b/.test(code))
		return `(crypto=>{{${code}}})(require('node:crypto'))`;
	return code;
}

// Null = it is no script; executed, it may be a module or tells what is wrong with it.
function compile(code) {
	// The loader of modules would be one that warns of itself.
	if (/\bimport\b/.test(code))
		return null;
	try {
		return new vm.Script(source(code), { filename: '[eval]' });
	} catch {
		return null;
	}
}

// There was none for it until now: what the agent has made is for a call that has something to say.
function dropInput() {
	fs.closeSync(0);
	return fs.openSync('/dev/null', 'r') === 0;
}

function takeToken() {
	const count = Buffer.alloc(8);
	try {
		fs.readSync(TOKEN, count, 0, 8, null);
	} catch {
		end(NOT_NOW);
	}
}

// One call. Nothing that is not undone by our end happens before the token is ours.
function serve(state) {
	const [input, cwd, code, ...entries] = readOrder();
	const env = new Map(entries.map((e) => [e.slice(0, e.indexOf('=')), e.slice(e.indexOf('=') + 1)]));
	try {
		process.chdir(cwd);
	} catch {
		end(NOT_NOW);
	}
	if (isStale(state, env))
		end(STALE);
	const script = compile(code);
	if (!script || (input === '0' && !dropInput()))
		end(NOT_NOW);
	setEnvironment(env);
	for (const key of Object.keys(Module._pathCache))
		delete Module._pathCache[key];
	process.execArgv = ['-e', code];
	Reflect.defineProperty(process, '_eval', { value: code, enumerable: true, configurable: true });
	takeToken();
	for (const fd of [CONTROL, ORDER, TOKEN])
		fs.closeSync(fd);
	return script;
}

// What `node -e` gives its code; the same text as there, for it is seen in traces.
const wrapper = `
      globalThis.module = module;
      globalThis.exports = exports;
      globalThis.__dirname = __dirname;
      globalThis.require = require;
      return (main) => main();
    `;

function run(script) {
	const module = new Module('[eval]');
	module.filename = path.join(process.cwd(), '[eval]');
	module.paths = Module._nodeModulePaths(process.cwd());
	globalThis.__filename = '[eval]';
	const call = module._compile(wrapper, '[eval]-wrapper');
	/^/.exec('');
	call(() => script.runInThisContext({ displayErrors: true }));
}

// ---- before it ----

// The descriptor below it will be another one.
function load(names, base) {
	const input = Object.getOwnPropertyDescriptor(process, 'stdin');
	let isTouched = false;
	Object.defineProperty(process, 'stdin', {
		configurable: true, enumerable: true, get() {
			isTouched = true;
			return input.get.call(process);
		},
	});
	const requireFrom = Module.createRequire(path.join(base, '[eval]'));
	for (const name of names)
		requireFrom(name);
	Object.defineProperty(process, 'stdin', input);
	return !isTouched;
}

function main() {
	if (major < 18)
		end(3);
	const [, base, ...names] = readOrder();
	const found = program(process.env.PATH ?? '');
	const state = { program: found, programWas: look(found) };
	const start = Date.now();
	if (!load(names, base))
		end(4);
	state.sources = sources(base);
	state.isMixed = state.sources.some(([name]) => isNewer(name, start));
	fs.writeSync(CONTROL, 'R');
	if (fs.readSync(CONTROL, Buffer.alloc(1)) !== 1)
		end(0);
	return serve(state);
}

run(main());
})
