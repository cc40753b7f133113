// SPDX-License-Identifier: Apache-2.0
// media.ts: the width of the window as signals.
import { signal, type ReadonlySignal } from "@preact/signals";

function follow(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener("change", (e) => (matches.value = e.matches));
  return matches;
}

export const isPhone = follow("(max-width: 639px)");
export const isNarrow = follow("(max-width: 1099px)");
