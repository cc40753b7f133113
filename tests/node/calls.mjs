// SPDX-License-Identifier: Apache-2.0
// Which methods of a client's classes have been called.
import { readFile, readdir } from 'node:fs/promises';

const called = new Set();
const watched = new Set();

// From now on, all that classes have of their own is noted when it is used.
export function watch(...classes) {
  for (const one of classes) {
    if (watched.has(one.name)) continue;
    watched.add(one.name);
    for (const owner of [one, one.prototype]) {
      for (const [name, what] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        const note = (run) => run && function noted(...values) {
          called.add(`${one.name}.${name}`);
          return run.apply(this, values);
        };
        if (name === 'constructor' || name === 'prototype' || !what.configurable) continue;
        if (what.get) Object.defineProperty(owner, name, { ...what, get: note(what.get) });
        else if (typeof what.value === 'function') Object.defineProperty(owner, name, { ...what, value: note(what.value) });
      }
    }
  }
}

// "Class.method" of each that the declarations in a folder have for everybody, and nothing has called.
export async function uncalled(folder) {
  const missing = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.d.ts'))) {
    const text = await readFile(new URL(file, folder), 'utf8');
    for (const [, name, body] of text.matchAll(/^export declare class (\w+)[^{]*{\n(.*?)^}/gms)) {
      for (const [, method] of body.matchAll(/^ {4}(?:static )?(?:get )?(\w+)(?:<.*?>)?\(/gm)) {
        if (method !== 'constructor' && !called.has(`${name}.${method}`)) missing.push(`${name}.${method}`);
      }
    }
  }
  return [...new Set(missing)];
}
