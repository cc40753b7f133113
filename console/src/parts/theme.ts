// SPDX-License-Identifier: Apache-2.0
// theme.ts: light or dark on <html data-theme>; theme.js sets it before the first paint.
import { effect } from "@preact/signals";
import { theme } from "../store/preferences";

const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

export function isDark(): boolean {
  return theme.peek() === "dark" || (theme.peek() === "system" && dark.matches);
}

function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  for (const watch of watchers) watch();
}

/** Runs when the colours change; for canvases, which do not follow CSS. */
export function watchTheme(watch: () => void): () => void {
  watchers.add(watch);
  return () => watchers.delete(watch);
}

export function startTheme(): void {
  dark.addEventListener("change", apply);
  effect(() => {
    theme.value;
    apply();
  });
}
