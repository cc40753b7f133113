// SPDX-License-Identifier: Apache-2.0
// sizes.mjs: the budget of each chunk, in KB after gzip. A chunk more than 5 % over its budget fails the build.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SLACK = 1.05;
const EDITOR = "src/lazy/editor/index.tsx";
const PAGE_KB = 12;
/** By the source of the chunk. */
const BUDGETS = {
  "index.html": 45,
  texts: 24,
  css: 14,
  "src/pages/sandboxes/index.tsx": 20,
  "src/pages/sandbox/terminal/index.tsx": 14,
  "src/pages/sandbox/files/index.tsx": 18,
  "src/pages/sandbox/activity/index.tsx": 16,
  "src/pages/sandbox/snapshots/index.tsx": 14,
  "src/pages/templates/index.tsx": 22,
  "src/pages/builds/index.tsx": 20,
  "src/pages/volumes/index.tsx": 20,
  "src/pages/snapshots/index.tsx": 20,
  "src/lazy/terminal/index.tsx": 95,
  [EDITOR]: 120,
  "src/lazy/chart/index.tsx": 25,
  "src/lazy/qr/index.tsx": 10,
  // Both read the scripts and styles of a page, too.
  "node_modules/@codemirror/lang-html/dist/index.js": 75,
  "node_modules/@codemirror/lang-markdown/dist/index.js": 90,
};
const LANGUAGE_KB = 50;
/** Of a chunk that several pages share. */
const SHARED_KB = 20;
const FIRST_LOAD_KB = 90;
const FIRST_PAGES = ["src/pages/sign-in/index.tsx", "src/pages/overview/index.tsx", "src/pages/sandboxes/index.tsx"];

const kb = (out, file) => readFileSync(join(out, `${file}.gz`)).length / 1024;

function budgetOf(key) {
  if (BUDGETS[key]) return BUDGETS[key];
  if (key.startsWith("_")) return SHARED_KB;
  return key.startsWith("src/pages/") ? PAGE_KB : LANGUAGE_KB;
}

/** All files that showing `key` needs, without what it loads later. */
function closure(manifest, key, found = new Set()) {
  const entry = manifest[key];
  if (!entry || found.has(entry.file)) return found;
  found.add(entry.file);
  for (const css of entry.css ?? []) found.add(css);
  for (const inner of entry.imports ?? []) closure(manifest, inner, found);
  return found;
}

const sum = (out, files) => [...files].reduce((total, file) => total + kb(out, file), 0);

/** `fileOf` gives the file of a source: languages share the editor's chunk, so that the manifest has it under another name than its source. */
export function checkSizes(out, manifest, fileOf) {
  const editorFile = fileOf(EDITOR);
  const editorKey = Object.keys(manifest).find((key) => manifest[key].file === editorFile);
  if (!editorKey) throw new Error(`console: no chunk has ${EDITOR}`);
  const rows = [];
  const over = [];
  const shell = closure(manifest, "index.html");
  const note = (name, size, budget) => {
    rows.push([name, size, budget]);
    if (size > budget * SLACK) over.push(`${name}: ${size.toFixed(1)} KB gzip, and ${budget} are allowed`);
  };
  const texts = Object.keys(manifest).filter((key) => /^_en\./.test(key)).map((key) => manifest[key].file);
  note("shell", sum(out, [...shell].filter((f) => f.endsWith(".js") && !texts.includes(f))), BUDGETS["index.html"]);
  note("texts", sum(out, texts), BUDGETS.texts);
  note("css", sum(out, [...shell].filter((f) => f.endsWith(".css"))), BUDGETS.css);
  const pages = new Set(Object.keys(manifest).filter((key) => /^src\/(pages|objects)\//.test(key)).flatMap((key) => [...closure(manifest, key)]));
  // An open editor loads the languages: what both need is there already.
  const editor = closure(manifest, editorKey);
  for (const [key, entry] of Object.entries(manifest)) {
    if (shell.has(entry.file) || !entry.file.endsWith(".js")) continue;
    const isShared = key.startsWith("_") && !entry.isDynamicEntry;
    // What only lazy parts share is counted with them.
    if (isShared && !pages.has(entry.file)) continue;
    const isLanguage = !key.startsWith("_") && !key.startsWith("src/");
    const isOwnFile = isShared || /^src\/(pages|objects)\//.test(key);
    const own = isOwnFile ? [entry.file] : [...closure(manifest, key)].filter((f) => !shell.has(f) && !(isLanguage && editor.has(f)) && f.endsWith(".js"));
    const source = key === editorKey ? EDITOR : key;
    note(source.replace(/^.*node_modules\//, ""), sum(out, own), budgetOf(source));
  }
  const firsts = FIRST_PAGES.filter((key) => manifest[key]).map((key) => sum(out, new Set([...shell, ...closure(manifest, key)])));
  note("first load", Math.max(...firsts, sum(out, shell)), FIRST_LOAD_KB);
  if (process.env.CONSOLE_SIZES) for (const [name, size, budget] of rows) console.log(`${size.toFixed(1).padStart(7)} of ${String(budget).padStart(3)} KB  ${name}`);
  if (over.length) throw new Error(`console: over the budget\n${over.join("\n")}`);
}
