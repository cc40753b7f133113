// SPDX-License-Identifier: Apache-2.0
import { env } from "node:process";
import { defineConfig, type Plugin } from "vite";

// `npm run dev` serves the console with reload on change and sends the API's calls to this server.
const server = env.ATOLL_URL ?? "http://127.0.0.1:7777";
const proxied = { target: server, changeOrigin: true, ws: true, headers: env.ATOLL_API_KEY ? { Authorization: `Bearer ${env.ATOLL_API_KEY}` } : {} };

// With ATOLL_API_KEY the dev server signs every call with that key, and stands in for the session routes.
const apiKey = env.ATOLL_API_KEY ?? "";
const keySession: Plugin = {
  name: "key-session",
  configureServer(dev) {
    if (!apiKey) return;
    dev.middlewares.use("/v1/session", (request, answer, next) => {
      if (request.method !== "GET" || request.url !== "/") return next();
      void fetch(`${server}/accounts/me`, { headers: { Authorization: `Bearer ${apiKey}` } }).then(async (found) => {
        const me = (await found.json()) as { project: string; project_name: string; key: string; scopes: string[]; role: string | null };
        const project = { id: me.project, name: me.project_name, role: me.role, scopes: me.scopes };
        answer.setHeader("Content-Type", "application/json");
        answer.end(JSON.stringify({ id: "dev", kind: "key", user: null, csrf_token: "", expires_at: null, project: me.project, projects: [project], scopes: me.scopes }));
      }, next);
    });
  },
};

// A chunk is named by its folder: pages/sandbox/files/index.tsx is "sandbox-files".
function nameOfChunk(chunk: { facadeModuleId: string | null; name: string }): string {
  const folder = /src\/(?:pages|lazy)\/(.*)\/index\.tsx?$/.exec(chunk.facadeModuleId ?? "")?.[1];
  return `assets/${folder?.replaceAll("/", "-") ?? "[name]"}.[hash].js`;
}

export default defineConfig({
  base: "/console/",
  plugins: [keySession],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    outDir: env.CONSOLE_OUT ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    manifest: "manifest.json",
    rollupOptions: {
      output: {
        entryFileNames: "assets/[name].[hash].js",
        chunkFileNames: nameOfChunk,
        assetFileNames: "assets/[name].[hash][extname]",
        hashCharacters: "hex",
      },
    },
  },
  server: { proxy: { "/v1": proxied, "/api": proxied, "/accounts": proxied, "/healthz": proxied, "/readyz": proxied, "/openapi.json": proxied } },
});
