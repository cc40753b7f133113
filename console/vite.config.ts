// SPDX-License-Identifier: Apache-2.0
import { env } from "node:process";
import { defineConfig } from "vite";

// `npm run dev` serves the console with reload on change and sends the API's calls to this server, with the browser's own Host and Origin.
const server = env.ATOLL_URL ?? "http://127.0.0.1:7777";
const proxied = { target: server, ws: true };

// A chunk is named by its folder: pages/sandbox/files/index.tsx is "sandbox-files".
function nameOfChunk(chunk: { facadeModuleId: string | null; name: string }): string {
  const folder = /src\/(?:pages|lazy)\/(.*)\/index\.tsx?$/.exec(chunk.facadeModuleId ?? "")?.[1];
  return `assets/${folder?.replaceAll("/", "-") ?? "[name]"}.[hash].js`;
}

export default defineConfig({
  base: "/console/",
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
        // Texts change at other times than code does, and a translation replaces only them.
        manualChunks: (id: string) => (id.endsWith("/src/text/en.ts") ? "en" : undefined),
        entryFileNames: "assets/[name].[hash].js",
        chunkFileNames: nameOfChunk,
        assetFileNames: "assets/[name].[hash][extname]",
        hashCharacters: "hex",
      },
    },
  },
  server: { proxy: { "/v1": proxied, "/api": proxied, "/accounts": proxied, "/healthz": proxied, "/readyz": proxied, "/openapi.json": proxied } },
});
