// SPDX-License-Identifier: Apache-2.0
// guide_code.ts: the first lines in each language, with this server's address filled in.

export type GuideKind = "cli" | "python" | "typescript" | "e2b" | "daytona" | "mcp";
export const GUIDE_KINDS: readonly GuideKind[] = ["cli", "python", "typescript", "e2b", "daytona", "mcp"];

export function environmentOf(kind: GuideKind, server: string): string {
  if (kind === "e2b") return `export E2B_API_URL=${server} E2B_SANDBOX_URL=${server}\nexport E2B_API_KEY=e2b_…`;
  if (kind === "daytona") return `export DAYTONA_API_URL=${server}/daytona/api\nexport DAYTONA_API_KEY=atoll_…`;
  return `export ATOLL_API_URL=${server}\nexport ATOLL_API_KEY=atoll_…`;
}

const CODE: Record<GuideKind, (server: string) => string> = {
  cli: () => "atoll run -- python3 -c 'print(6 * 7)'\natoll run --keep --name first -- uname -a\natoll shell first",
  python: () => `from atoll_sdk import Sandbox

with Sandbox.create() as sandbox:
    sandbox.files.write("table.py", "for n in range(3): print(n, n * n)")
    print(sandbox.commands.run("python3 table.py").stdout)`,
  typescript: () => `import { Sandbox } from "atoll-sdk";

const sandbox = await Sandbox.create();
const { stdout } = await sandbox.commands.run("uname -a");
console.log(stdout);
await sandbox.kill();`,
  e2b: () => `import { Sandbox } from "e2b";

const sandbox = await Sandbox.create();
const { stdout } = await sandbox.commands.run("uname -a");
console.log(stdout);
await sandbox.kill();`,
  daytona: () => `import { Daytona } from "@daytona/sdk";

const daytona = new Daytona();
const sandbox = await daytona.create();
const { result } = await sandbox.process.executeCommand("uname -a");
console.log(result);
await sandbox.delete();`,
  mcp: (server) => JSON.stringify({ mcpServers: { atoll: { command: "atoll", args: ["mcp"], env: { ATOLL_API_URL: server, ATOLL_API_KEY: "atoll_…" } } } }, null, 2),
};

export const guideCode = (kind: GuideKind, server: string): string => CODE[kind](server);
