// SPDX-License-Identifier: Apache-2.0
// snippets.ts: a cell as a command or a program that does the same.
export type Form = "curl" | "python" | "typescript";
export interface Source {
  sandbox: string;
  /** "shell": a command. */
  language: string;
  text: string;
}

const quoteShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** A string that is the same in Python and in TypeScript: JSON's, but for the separators that JavaScript once refused. */
const quote = (text: string): string => JSON.stringify(text).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);

function curl({ sandbox, language, text }: Source, origin: string): string {
  const isShell = language === "shell";
  const body = isShell ? { command: text } : { language, code: text, contextId: "default" };
  return [
    `curl -X POST "${origin}/api/sandbox/instances/${encodeURIComponent(sandbox)}/${isShell ? "exec" : "code"}"`,
    '  -H "Authorization: Bearer $ATOLL_API_KEY"',
    "  -H 'Content-Type: application/json'",
    `  -d ${quoteShell(JSON.stringify(body))}`,
  ].join(" \\\n");
}

function python({ sandbox, language, text }: Source): string {
  const call = language === "shell" ? `sandbox.commands.run(${quote(text)})` : `sandbox.code.run(${quote(text)}, language=${quote(language)})`;
  return ["from atoll_sdk import Sandbox", "", `sandbox = Sandbox.connect(${quote(sandbox)})`, `result = ${call}`, "print(result)", ""].join("\n");
}

function typescript({ sandbox, language, text }: Source): string {
  const call = language === "shell" ? `sandbox.commands.run(${quote(text)})` : `sandbox.code.run(${quote(text)}, { language: ${quote(language)} })`;
  return ["import { Sandbox } from 'atoll-sdk'", "", `const sandbox = await Sandbox.connect(${quote(sandbox)})`, `const result = await ${call}`, "console.log(result)", ""].join("\n");
}

export function snippetOf(form: Form, source: Source, origin: string): string {
  if (form === "curl") return curl(source, origin);
  return form === "python" ? python(source) : typescript(source);
}
