// SPDX-License-Identifier: Apache-2.0
// preferences.ts: what this browser remembers of how the user likes it. Never keys, never data of a project.
import { effect, signal, type Signal } from "@preact/signals";

/** A signal whose value survives a reload. A value that does not pass `isGood` is dropped. */
export function preference<T>(name: string, initial: T, isGood: (value: unknown) => value is T): Signal<T> {
  const key = `atoll.${name}`;
  let value = initial;
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (isGood(stored)) value = stored;
  } catch {
    // Storage is off, or its text is none of ours.
  }
  const preferred = signal(value);
  let isFirst = true;
  effect(() => {
    const next = JSON.stringify(preferred.value);
    if (isFirst) {
      isFirst = false;
      return;
    }
    try {
      localStorage.setItem(key, next);
    } catch {
      // It lasts as long as the tab, then.
    }
  });
  return preferred;
}

const oneOf =
  <T extends string>(...choices: T[]) =>
  (value: unknown): value is T =>
    choices.includes(value as T);
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";

export type Theme = "system" | "light" | "dark";
export const theme = preference<Theme>("theme", "system", oneOf<Theme>("system", "light", "dark"));
export const isSidebarNarrow = preference("sidebar-narrow", false, isBoolean);
/** Single-key shortcuts, which WCAG 2.1.4 lets the user switch off. */
export const hasSingleKeys = preference("single-keys", true, isBoolean);
export const density = preference<"normal" | "compact">("density", "normal", oneOf("normal", "compact"));
