// SPDX-License-Identifier: Apache-2.0
// check.mjs: what the sources of the console must keep, without a build: layers, sizes of files and of page folders, no markup from text.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SRC = join(ROOT, "src");
const FILE_MAX = 300;
const FOLDER_MAX = 1200;
/** Generated files, and the one file of all texts. */
const ANY_LENGTH = new Set(["api/generated.ts", "api/schemas.ts", "text/en.ts"]);
/** Which part of src/ may import which. "router" is router.ts and routes.ts. */
const LAYERS = {
  text: ["text"],
  api: ["api"],
  store: ["api", "store"],
  style: [],
  parts: ["parts", "store", "api", "text", "lazy"],
  lazy: ["lazy", "parts", "store", "api", "text"],
  router: ["router", "store"],
  objects: ["objects", "parts", "store", "api", "text", "router", "lazy"],
  shell: ["shell", "objects", "parts", "store", "api", "text", "router", "style"],
  pages: ["objects", "parts", "store", "api", "text", "router", "lazy", "shell"],
  main: ["shell", "parts", "store", "router", "style"],
};
/** Frames that pages outside of a project share; other pages know nothing of the shell. */
const SHELL_FOR_PAGES = new Set(["shell/alone.tsx", "shell/account_form.tsx"]);
const ONLY_USERS = [
  [/^@xterm\//, "lazy/terminal/"],
  [/^@codemirror\/|^@lezer\//, "lazy/editor/"],
  [/^uplot/, "lazy/chart/"],
  [/^uqr/, "lazy/qr/"],
];
const BANNED = [
  [/dangerouslySetInnerHTML|\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write/, "markup from text"],
  [/\beval\(|new Function\(/, "code from text"],
  [/\bstyle=["{]/, "a style attribute: the policy refuses it in markup; set element.style in an effect, or use a class"],
  [/\bsetInterval\(/, "polling: follow the events"],
  [/\b(localStorage|sessionStorage)\b/, "storage: use store/preferences.ts"],
  [/\bTODO\b|\bFIXME\b/, "unfinished work"],
];
const ALLOWED = { "store/preferences.ts": ["storage"], "store/clock.ts": ["polling"] };

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (/\.(tsx?|css)$/.test(entry.name)) yield relative(SRC, path);
  }
}

const layerOf = (name) => {
  if (/^(router|routes)\b/.test(name)) return "router";
  const first = name.split("/")[0];
  return first.startsWith("main.") ? "main" : first;
};
const pageOf = (name) => /^pages\/(sandbox\/[^/]+(?=\/)|[^/]+)/.exec(name)?.[1];

function checkImport(name, target) {
  if (!target.startsWith(".")) {
    const rule = ONLY_USERS.find(([pattern]) => pattern.test(target));
    return rule && !name.startsWith(rule[1]) ? `imports ${target}; only ${rule[1]} may` : null;
  }
  const other = normalize(join(dirname(name), target));
  const [mine, its] = [layerOf(name), layerOf(other)];
  if (mine === "pages" && its === "pages") {
    const [a, b] = [pageOf(name), pageOf(`${other}${other.includes(".") ? "" : ".tsx"}`)];
    const isFrame = a?.startsWith("sandbox/") && /^pages\/sandbox\/tab$/.test(other);
    return a === b || isFrame ? null : `imports the page ${other}; what two pages share belongs to objects/ or parts/`;
  }
  if (mine === "pages" && its === "shell") return SHELL_FOR_PAGES.has(`${other}.tsx`) ? null : `imports ${other} of the shell`;
  return LAYERS[mine]?.includes(its) ? null : `${mine} may not import ${its} (${target})`;
}

function checkFile(name, text, say) {
  const lines = text.split("\n");
  if (!ANY_LENGTH.has(name) && lines.length - 1 > FILE_MAX) say(`${name}: ${lines.length - 1} lines; at most ${FILE_MAX}`);
  if (!lines[0].includes("SPDX-License-Identifier")) say(`${name}:1: the first line names the licence`);
  if (!/\.tsx?$/.test(name)) return;
  for (const [i, line] of lines.entries()) {
    const code = line.replace(/^\s*(\/\/|\*).*/, "");
    for (const [pattern, what] of BANNED) {
      const kind = what.split(":")[0];
      if (pattern.test(code) && !ALLOWED[name]?.includes(kind)) say(`${name}:${i + 1}: ${what}`);
    }
  }
  for (const m of text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
    const found = checkImport(name, m[1]);
    if (found) say(`${name}: ${found}`);
  }
}

const findings = [];
const folders = new Map();
for (const name of filesBelow(SRC)) {
  const text = readFileSync(join(SRC, name), "utf8");
  checkFile(name, text, (finding) => findings.push(`console/src/${finding}`));
  const page = pageOf(name);
  if (page) folders.set(page, (folders.get(page) ?? 0) + text.split("\n").length - 1);
}
for (const [page, lines] of folders) if (lines > FOLDER_MAX) findings.push(`console/src/pages/${page}: ${lines} lines; at most ${FOLDER_MAX}`);
for (const finding of findings) console.error(finding);
process.exit(findings.length ? 1 : 0);
