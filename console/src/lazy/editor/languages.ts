// SPDX-License-Identifier: Apache-2.0
// languages.ts: a language by a file's name or by its own.
import { StreamLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

type Load = () => Promise<Extension>;

async function legacy(load: () => Promise<unknown>, name: string): Promise<Extension> {
  const mode = await load();
  return StreamLanguage.define((mode as Record<string, Parameters<typeof StreamLanguage.define>[0]>)[name] as Parameters<typeof StreamLanguage.define>[0]);
}

const javascript: Load = () => import("@codemirror/lang-javascript").then((m) => m.javascript({ jsx: true }));
const typescript: Load = () => import("@codemirror/lang-javascript").then((m) => m.javascript({ jsx: true, typescript: true }));
const python: Load = () => import("@codemirror/lang-python").then((m) => m.python());
const json: Load = () => import("@codemirror/lang-json").then((m) => m.json());
const markdown: Load = () => import("@codemirror/lang-markdown").then((m) => m.markdown());
const html: Load = () => import("@codemirror/lang-html").then((m) => m.html());
const css: Load = () => import("@codemirror/lang-css").then((m) => m.css());
const shell: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/shell"), "shell");
const yaml: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/yaml"), "yaml");
const toml: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/toml"), "toml");
const dockerfile: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/dockerfile"), "dockerFile");
const clike: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/clike"), "c");
const go: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/go"), "go");
const rust: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/rust"), "rust");
const sql: Load = () => legacy(() => import("@codemirror/legacy-modes/mode/sql"), "standardSQL");

const LANGUAGES: Readonly<Record<string, Load>> = {
  js: javascript, mjs: javascript, cjs: javascript, jsx: javascript, javascript, ts: typescript, tsx: typescript, mts: typescript, typescript,
  py: python, pyi: python, python, json, jsonl: json, md: markdown, markdown, html, htm: html, svg: html, xml: html, vue: html, css, scss: css,
  sh: shell, bash: shell, zsh: shell, shell, yaml, yml: yaml, toml, ini: toml, dockerfile, c: clike, h: clike, cc: clike, cpp: clike, java: clike, go, rs: rust, sql,
};

export async function loadLanguage(name: string): Promise<Extension | null> {
  const base = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const key = base.startsWith("dockerfile") ? "dockerfile" : base.slice(base.lastIndexOf(".") + 1);
  const load = Object.hasOwn(LANGUAGES, key) ? LANGUAGES[key] : undefined;
  return load ? load().catch(() => null) : null;
}
