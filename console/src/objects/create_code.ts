// SPDX-License-Identifier: Apache-2.0
// create_code.ts: one create request as curl, CLI, Python and TypeScript. Values of secrets stand as $NAME.
import type { SandboxCreate } from "../api/generated";

export type CodeKind = "curl" | "cli" | "python" | "typescript";
type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

/** Values of the environment never appear in examples. */
function withoutSecrets(body: SandboxCreate): Record<string, Value> {
  const copy = JSON.parse(JSON.stringify(body)) as Record<string, Value>;
  const env = body.env as Record<string, string> | undefined;
  if (env) copy["env"] = Object.fromEntries(Object.keys(env).map((name) => [name, `$${name}`]));
  return copy;
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function curl(body: Record<string, Value>): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return `curl -X POST "$ATOLL_API_URL/api/sandbox/instances?wait=false" \\\n  -H "Authorization: Bearer $ATOLL_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`;
}

const list = (value: Value | undefined): string[] => (Array.isArray(value) ? value.map(String) : []);

function cli(body: Record<string, Value>): string {
  const words: string[] = [];
  const flag = (name: string, value: Value | undefined): void => {
    if (value !== undefined && value !== null && value !== "") words.push(`--${name} ${shellWord(String(value))}`);
  };
  const resources = (body["resources"] ?? {}) as Record<string, Value>;
  const egress = (body["egress"] ?? {}) as Record<string, Value>;
  flag("template", body["template"]);
  flag("snapshot", body["snapshot"]);
  flag("name", body["name"]);
  flag("cpu", resources["cpu"]);
  flag("memory", resources["memory_mb"]);
  flag("disk", resources["disk_mb"]);
  flag("pids", resources["pids"]);
  flag("volume", body["volume"]);
  flag("workspace", body["workspace"]);
  flag("provider", body["provider"]);
  flag("isolation", body["isolation"]);
  if (body["internet"] === false) words.push("--no-internet");
  for (const to of list(egress["allow"])) flag("allow", to);
  for (const name of list(egress["presets"])) flag("preset", name);
  for (const name of list(egress["credentials"])) flag("credential", name);
  for (const name of Object.keys((body["env"] ?? {}) as object)) flag("env", name);
  return ["atoll run --keep", ...words, "-- true"].join(" \\\n  ");
}

function pythonValue(value: Value, indent: string): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  if (Array.isArray(value)) return `[${value.map((v) => pythonValue(v, inner)).join(", ")}]`;
  const members = Object.entries(value).map(([k, v]) => `${inner}${JSON.stringify(k)}: ${pythonSecret(v, inner)},`);
  return members.length ? `{\n${members.join("\n")}\n${indent}}` : "{}";
}

const isSecret = (value: Value): value is string => typeof value === "string" && /^\$[\w.-]+$/.test(value);
const pythonSecret = (value: Value, indent: string): string => (isSecret(value) ? `os.environ[${JSON.stringify(value.slice(1))}]` : pythonValue(value, indent));

function python(body: Record<string, Value>): string {
  const members = Object.entries(body).map(([k, v]) => `    ${k}=${pythonValue(v, "    ")},`);
  const head = body["env"] ? "import os\n\n" : "";
  return `${head}from atoll_sdk import Sandbox\n\nsandbox = Sandbox.create(${members.length ? `\n${members.join("\n")}\n` : ""})\nprint(sandbox.id)`;
}

function scriptValue(value: Value, indent: string): string {
  if (isSecret(value)) return `process.env[${JSON.stringify(value.slice(1))}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) return `[${value.map((v) => scriptValue(v, inner)).join(", ")}]`;
  const key = (k: string): string => (/^[A-Za-z_$][\w$]*$/.test(k) ? k : JSON.stringify(k));
  const members = Object.entries(value).map(([k, v]) => `${inner}${key(k)}: ${scriptValue(v, inner)},`);
  return members.length ? `{\n${members.join("\n")}\n${indent}}` : "{}";
}

function typescript(body: Record<string, Value>): string {
  return `import { Sandbox } from "atoll-sdk";\n\nconst sandbox = await Sandbox.create(${scriptValue(body, "")});\nconsole.log(sandbox.id);`;
}

const WRITERS: Record<CodeKind, (body: Record<string, Value>) => string> = { curl, cli, python, typescript };

export function codeOf(kind: CodeKind, body: SandboxCreate): string {
  return WRITERS[kind](withoutSecrets(body));
}
