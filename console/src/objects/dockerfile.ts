// SPDX-License-Identifier: Apache-2.0
// dockerfile.ts: a Dockerfile without files of its own as the steps of a build. What needs the folder beside it is refused by its line.
import type { BuildCreate, BuildStep } from "../api/generated";

export interface ParsedDockerfile {
  body: Pick<BuildCreate, "from" | "image" | "steps" | "entrypoint" | "start" | "ports">;
  problems: string[];
}

interface Line {
  number: number;
  word: string;
  rest: string;
}

/** Instructions with their continued lines joined; comments and empty lines are left out. */
function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let open: { number: number; text: string } | null = null;
  for (const [i, raw] of text.replace(/\r\n?/g, "\n").split("\n").entries()) {
    if (/^\s*#/.test(raw) || (open === null && raw.trim() === "")) continue;
    const goesOn = /\\\s*$/.test(raw);
    const piece = raw.replace(/\\\s*$/, "").trim();
    open = open ? { number: open.number, text: `${open.text} ${piece}` } : { number: i + 1, text: piece };
    if (goesOn) continue;
    const [word = "", ...rest] = open.text.split(/\s+/);
    lines.push({ number: open.number, word: word.toUpperCase(), rest: open.text.slice(word.length).trim() || rest.join(" ") });
    open = null;
  }
  if (open) lines.push({ number: open.number, word: (open.text.split(/\s+/)[0] ?? "").toUpperCase(), rest: open.text.replace(/^\S+\s*/, "") });
  return lines;
}

/** ["a", "b"], or null when it is not the JSON form. */
function listOf(text: string): string[] | null {
  if (!text.startsWith("[")) return null;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((x) => typeof x === "string") ? list : null;
  } catch {
    return null;
  }
}

/** `A=1 B="two words"`, or the old form `A value`. */
function envOf(text: string): Record<string, string> | null {
  const old = /^([A-Za-z_]\w*)\s+(.+)$/.exec(text);
  if (old && !text.split(/\s/)[0]?.includes("=")) return { [old[1] ?? ""]: old[2] ?? "" };
  const found: Record<string, string> = {};
  const rest = text.replace(/([A-Za-z_]\w*)=(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S*))\s*/g, (_, name: string, double?: string, single?: string, bare?: string) => {
    found[name] = double?.replace(/\\(.)/g, "$1") ?? single ?? bare ?? "";
    return "";
  });
  return rest.trim() === "" && Object.keys(found).length ? found : null;
}

function portsOf(text: string): number[] | null {
  const ports = text.split(/\s+/).map((p) => Number(p.replace(/\/tcp$/i, "")));
  return ports.every((p) => Number.isInteger(p) && p > 0 && p < 65536) ? ports : null;
}

type Take = (line: Line, into: ParsedDockerfile, steps: BuildStep[]) => string | null;

function takeRun({ rest }: Line, _: ParsedDockerfile, steps: BuildStep[]): string | null {
  if (/^--/.test(rest)) return "options of RUN need atoll template build";
  if (/<<-?\s*["']?\w/.test(rest)) return "here-documents need atoll template build";
  const args = listOf(rest);
  steps.push(args ? { type: "run", args } : { type: "run", command: rest });
  return rest ? null : "a command is missing";
}

function takeFrom({ rest }: Line, into: ParsedDockerfile): string | null {
  const [name = "", ...more] = rest.split(/\s+/);
  if (into.body.from ?? into.body.image) return "several stages need atoll template build";
  if (name.startsWith("--") || name.includes("$") || name === "scratch" || name === "") return `FROM ${name} is not possible here`;
  if (more.length && more[0]?.toUpperCase() !== "AS") return "FROM takes one image";
  // A name that looks like an image's is pulled; any other is a template.
  if (/[/:@]/.test(name)) into.body.image = name;
  else into.body.from = name;
  return null;
}

function takeEnv({ rest }: Line, _: ParsedDockerfile, steps: BuildStep[]): string | null {
  const env = envOf(rest);
  if (!env) return "ENV takes NAME=value";
  steps.push({ type: "env", env });
  return null;
}

function takeProgram({ rest }: Line, into: ParsedDockerfile): string | null {
  const list = listOf(rest);
  if (list) into.body.entrypoint = [...(into.body.entrypoint ?? []), ...list];
  else into.body.start = rest;
  return null;
}

function takeExpose({ rest }: Line, into: ParsedDockerfile): string | null {
  const ports = portsOf(rest);
  if (!ports) return "EXPOSE takes port numbers";
  into.body.ports = [...((into.body.ports as number[] | undefined) ?? []), ...ports];
  return null;
}

const needsFolder: Take = ({ word }) => `${word} needs the files beside the Dockerfile: run atoll template build in the folder`;
const ignored: Take = () => null;
const step = (type: "workdir" | "user", member: "path" | "user"): Take => ({ rest }, _, steps) => {
  steps.push({ type, [member]: rest });
  return rest ? null : "a value is missing";
};

const TAKES: Record<string, Take> = {
  FROM: takeFrom, RUN: takeRun, ENV: takeEnv, WORKDIR: step("workdir", "path"), USER: step("user", "user"), ENTRYPOINT: takeProgram, CMD: takeProgram,
  EXPOSE: takeExpose, COPY: needsFolder, ADD: needsFolder, LABEL: ignored, MAINTAINER: ignored, STOPSIGNAL: ignored, ONBUILD: ignored,
};

export function parseDockerfile(text: string): ParsedDockerfile {
  const parsed: ParsedDockerfile = { body: {}, problems: [] };
  const steps: BuildStep[] = [];
  for (const line of linesOf(text)) {
    const take = TAKES[line.word];
    const isEarly = line.word !== "FROM" && !parsed.body.from && !parsed.body.image;
    const problem = !take ? `${line.word} needs atoll template build` : isEarly ? "FROM comes first" : take(line, parsed, steps);
    if (problem) parsed.problems.push(`Line ${line.number}: ${problem}.`);
  }
  if (!parsed.body.from && !parsed.body.image && parsed.problems.length === 0) parsed.problems.push("FROM is missing.");
  if (parsed.body.entrypoint && parsed.body.start) parsed.problems.push("ENTRYPOINT and CMD are either both lists or one command.");
  parsed.body.steps = steps;
  return parsed;
}
