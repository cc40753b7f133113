// SPDX-License-Identifier: Apache-2.0
// build.mjs [OUT]: checks the sources, builds the console, compresses each file, and writes OUT/files.txt, which tools/embed_console.py
// reads. One line for each file: PATH, its type, whether it is immutable.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";
import { checkSizes } from "./sizes.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const out = process.argv[2] ?? join(ROOT, "dist");
process.env.CONSOLE_OUT = out;

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml", png: "image/png", json: "application/json" };
const typeOf = (path) => TYPES[path.slice(path.lastIndexOf(".") + 1)];

function compress(path) {
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${path}.br`, brotli);
}

/** Files of public/ have no hash in their name: they get one, and index.html is told. */
function hashPublicFiles() {
  let html = readFileSync(join(out, "index.html"), "utf8");
  for (const name of readdirSync(join(ROOT, "public"))) {
    const path = join(out, name);
    const bytes = readFileSync(path);
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
    const hashed = `assets/${name.replace(/(\.\w+)$/, `.${hash}$1`)}`;
    mkdirSync(join(out, "assets"), { recursive: true });
    writeFileSync(join(out, hashed), bytes);
    rmSync(path);
    html = html.replaceAll(`/console/${name}`, `/console/${hashed}`);
  }
  // Scripts come as modules of our own origin: the attribute would only ask for CORS.
  writeFileSync(join(out, "index.html"), html.replaceAll(" crossorigin", ""));
}

process.chdir(ROOT);
const { output } = await build({ configFile: join(ROOT, "vite.config.ts"), logLevel: "warn" });
hashPublicFiles();
const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8"));
rmSync(join(out, "manifest.json"));
const lines = [];
for (const path of [...filesBelow(out)]) {
  if (/\.(gz|br)$/.test(path) || path.endsWith("files.txt")) continue;
  const type = typeOf(path);
  if (!type) throw new Error(`console/build: no type is known for ${path}`);
  if (relative(out, path) !== "index.html") compress(path);
  lines.push(`${relative(out, path)}\t${type}\n`);
}
writeFileSync(join(out, "files.txt"), lines.join(""));
if (!existsSync(join(out, "index.html"))) throw new Error("console/build: vite made no index.html");
/** The file that has this source. */
const fileOf = (source) => output.find((chunk) => chunk.type === "chunk" && chunk.moduleIds.includes(join(ROOT, source)))?.fileName;
checkSizes(out, manifest, fileOf);
