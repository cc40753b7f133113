// SPDX-License-Identifier: Apache-2.0
// sandbox_query.ts: the search box of sandboxes: words, and tokens such as state:failed,paused template:base label:team=a cpu>1 idle>10m.
import { serverNow } from "../api/call";
import type { Sandbox } from "../store/sandboxes";

export interface Token {
  /** As typed: "state:failed,paused". */
  text: string;
  field: string;
  operator: ":" | ">" | "<" | ">=" | "<=";
  values: string[];
}
export interface Query {
  tokens: Token[];
  words: string[];
  /** Parts that look like tokens of fields that do not exist. */
  unknown: string[];
}

const labelsOf = (s: Sandbox): Record<string, string> => (s.labels as Record<string, string> | null) ?? {};
const time = (text: string | null): number | null => (text ? Date.parse(text) : null);
const since = (text: string | null): number | null => {
  const at = time(text);
  return at === null ? null : serverNow() - at;
};

/** Fields that are compared as words; a sandbox may have several of one. */
const WORDS: Readonly<Record<string, (s: Sandbox) => (string | null | undefined)[]>> = {
  state: (s) => [s.state],
  template: (s) => [s.template],
  provider: (s) => [s.provider],
  isolation: (s) => [s.isolation],
  region: (s) => [s.region],
  network: (s) => [s.network],
  name: (s) => [s.name],
  id: (s) => [s.id],
  reason: (s) => [s.reason],
  by: (s) => [s.created_by?.user, s.created_by?.key],
  volume: (s) => s.volumes?.flatMap((v) => [v.volume, v.volume_id]) ?? [],
  persistent: (s) => [s.persistent ? "yes" : "no"],
};
/** Fields that are compared as numbers. */
const NUMBERS: Readonly<Record<string, (s: Sandbox) => number | null>> = {
  cpu: (s) => s.resources.cpu,
  memory: (s) => s.resources.memory_mb * 1024 * 1024,
  disk: (s) => s.resources.disk_mb * 1024 * 1024,
  idle: (s) => since(s.last_activity_at),
  uptime: (s) => (s.state === "started" || s.state === "paused" ? since(s.started_at) : null),
  age: (s) => since(s.created_at),
};
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, k: 1024, kb: 1024, mb: 1024 ** 2, mib: 1024 ** 2, g: 1024 ** 3, gb: 1024 ** 3, gib: 1024 ** 3 };

export const WORD_FIELDS = Object.keys(WORDS);

/** "10m" as milliseconds for times, "2g" as bytes; a plain number as seconds for times and MiB for sizes. */
export function parseAmount(field: string, text: string): number | null {
  const m = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text);
  if (!m) return null;
  const unit = (m[2] ?? "").toLowerCase();
  const isSize = field === "memory" || field === "disk";
  const isTime = field === "idle" || field === "uptime" || field === "age";
  if (unit === "") return Number(m[1]) * (isSize ? 1024 ** 2 : isTime ? 1000 : 1);
  if (isSize && unit === "m") return Number(m[1]) * 1024 ** 2;
  const factor = UNITS[unit];
  return factor === undefined || (!isSize && !isTime) ? null : Number(m[1]) * factor;
}

/** Words are split at spaces; quotes keep them together: label:"owner=Jo Doe". */
export function splitQuery(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)].map((m) => m[0]);
}

export function parseQuery(text: string): Query {
  const query: Query = { tokens: [], words: [], unknown: [] };
  for (const part of splitQuery(text)) {
    const plain = part.replaceAll('"', "");
    const m = /^([a-z_]+)(:|>=|<=|>|<)(.*)$/i.exec(plain);
    const field = m?.[1]?.toLowerCase() ?? "";
    const operator = m?.[2] as Token["operator"];
    const value = m?.[3] ?? "";
    const isWord = operator === ":" && (field in WORDS || field === "label");
    const isNumber = m !== null && operator !== ":" && field in NUMBERS;
    if (!m) query.words.push(plain.toLowerCase());
    else if (isWord || isNumber) query.tokens.push({ text: part, field, operator, values: isNumber || field === "label" ? [value] : value.split(",") });
    else query.unknown.push(part);
  }
  return query;
}

function matchesLabel(s: Sandbox, wanted: string): boolean {
  const [key = "", ...rest] = wanted.split("=");
  const value = labelsOf(s)[key];
  return Object.hasOwn(labelsOf(s), key) && (rest.length === 0 || value === rest.join("="));
}

function matchesToken(s: Sandbox, token: Token): boolean {
  const wanted = token.values.filter((v) => v !== "");
  if (wanted.length === 0) return true;
  if (token.field === "label") return wanted.every((w) => matchesLabel(s, w));
  if (token.operator === ":") {
    const has = WORDS[token.field]?.(s).map((v) => v?.toLowerCase()) ?? [];
    return wanted.some((w) => has.includes(w.toLowerCase()));
  }
  const value = NUMBERS[token.field]?.(s) ?? null;
  const bound = parseAmount(token.field, wanted[0] ?? "");
  if (value === null || bound === null) return bound === null;
  return token.operator === ">" ? value > bound : token.operator === "<" ? value < bound : token.operator === ">=" ? value >= bound : value <= bound;
}

const texts = new WeakMap<Sandbox, string>();

function textOf(s: Sandbox): string {
  let text = texts.get(s);
  if (text === undefined) {
    text = [s.name, s.id, ...Object.entries(labelsOf(s)).map(([k, v]) => `${k}=${v}`)].join("\n").toLowerCase();
    texts.set(s, text);
  }
  return text;
}

export function matchesQuery(s: Sandbox, query: Query): boolean {
  return query.tokens.every((token) => matchesToken(s, token)) && query.words.every((word) => textOf(s).includes(word));
}

/** The text with a value of a field added or taken away: what the filter menus do. */
export function toggleValue(text: string, field: string, value: string): string {
  const said = /\s/.test(value) ? `"${value}"` : value;
  const query = parseQuery(text);
  const parts = splitQuery(text);
  const token = field === "label" ? query.tokens.find((x) => x.field === "label" && x.values[0] === value) : query.tokens.find((x) => x.field === field && x.operator === ":");
  if (!token) return [...parts, `${field}:${said}`].join(" ");
  const values = token.values.includes(value) ? token.values.filter((v) => v !== value) : [...token.values, value];
  const next = values.length && !(field === "label") ? `${field}:${values.map((v) => (/\s/.test(v) ? `"${v}"` : v)).join(",")}` : "";
  return parts.map((p) => (p === token.text ? next : p)).filter(Boolean).join(" ");
}

/** The text without one of its parts. */
export function dropPart(text: string, part: string): string {
  const parts = splitQuery(text);
  parts.splice(parts.indexOf(part), 1);
  return parts.join(" ");
}
