// SPDX-License-Identifier: Apache-2.0
// run.mjs [NAME…]: bundles each tests/unit/*.test.ts and runs them by Node's own test runner; Node 18 cannot read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const wanted = process.argv.slice(2);
const names = readdirSync(here).filter((n) => n.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((w) => n.startsWith(w))));
const out = mkdtempSync(join(tmpdir(), "atoll-console-unit-"));
let status = 1;
try {
  await build({
    entryPoints: names.map((n) => join(here, n)), bundle: true, outdir: out, outExtension: { ".js": ".mjs" }, format: "esm", platform: "node", target: "node18",
    jsx: "automatic", jsxImportSource: "preact", banner: { js: 'import "node:process";' }, logLevel: "warning", loader: { ".css": "empty" },
  });
  status = spawnSync(process.execPath, ["--test", ...readdirSync(out).map((n) => join(out, n))], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
process.exit(status);
