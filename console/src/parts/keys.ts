// SPDX-License-Identifier: Apache-2.0
// keys.ts: the one table of key bindings. The handler of keys, the palette and the sheet behind "?" all read it.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { hasSingleKeys } from "../store/preferences";

export interface Command {
  /** Unique: "sandboxes.create". */
  id: string;
  title: string;
  /** "Ctrl+K", "g s", "?", "Shift+J"; absent: only in the palette. */
  keys?: string;
  /** Heading in the sheet and the palette. */
  section: string;
  icon?: string;
  /** False: neither in the palette nor run by its key now. */
  isOffered?: () => boolean;
  run: () => void;
  /** Also while an input has the focus; combinations with Ctrl or Alt always are. */
  isInInputs?: boolean;
}

/** The newest registration of a key wins, so that a dialog's or a tab's commands stand above the page's. */
export const commands = signal<readonly Command[]>([]);

export function registerCommands(list: readonly Command[]): () => void {
  commands.value = [...commands.peek(), ...list];
  return () => (commands.value = commands.peek().filter((c) => !list.includes(c)));
}

/** Commands of a page or part, there while it is mounted. They may use new values on each render. */
export function useCommands(list: readonly Command[]): void {
  const latest = useRef(list);
  latest.current = list;
  const shape = list.map((c) => `${c.id}|${c.title}|${c.keys ?? ""}`).join("\n");
  useEffect(
    () =>
      registerCommands(
        list.map((command, i) => ({
          ...command,
          isOffered: () => latest.current[i]?.isOffered?.() ?? true,
          run: () => latest.current[i]?.run(),
        })),
      ),
    [shape],
  );
}

const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
/** How long the first key of "g s" waits for the second. */
const SEQUENCE_MS = 1200;

/** "Ctrl+K" of an event; letters keep their case as typed, without Shift. */
export function nameOfKey(e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const isLetter = /^[a-zA-Z]$/.test(e.key);
  const isPrintable = e.key.length === 1;
  const parts: string[] = [];
  if (e.ctrlKey || (IS_MAC && e.metaKey)) parts.push("Ctrl");
  if (e.altKey) parts.push("Alt");
  if (e.shiftKey && (!isPrintable || isLetter)) parts.push("Shift");
  const name = e.key === " " ? "Space" : isLetter ? (parts.length ? e.key.toUpperCase() : e.key) : e.key;
  return [...parts, name].join("+");
}

/** How a binding reads on this machine. */
export function showKeys(keys: string): string {
  const names: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc", Delete: "Del" };
  const said = keys.split("+").map((k) => names[k] ?? k);
  return IS_MAC ? said.join("").replace("Ctrl", "⌘").replace("Shift", "⇧").replace("Alt", "⌥") : said.join("+");
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest(".xterm, .cm-editor")) return true;
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button|submit|range)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

let first: { key: string; at: number } | null = null;

function findCommand(name: string): Command | undefined {
  return commands.peek().findLast((c) => c.keys === name && (c.isOffered?.() ?? true));
}

function onKey(e: KeyboardEvent): void {
  if (e.defaultPrevented || e.isComposing || ["Control", "Shift", "Alt", "Meta"].includes(e.key)) return;
  const name = nameOfKey(e);
  const isCombined = /^(Ctrl|Alt)\+/.test(name);
  const inInput = isTyping(e.target);
  const inDialog = document.querySelector("dialog[open]") !== null;
  const sequence = first && Date.now() - first.at < SEQUENCE_MS ? `${first.key} ${name}` : null;
  first = null;
  const command = (sequence && findCommand(sequence)) || findCommand(name);
  if (command) {
    if (inInput && !isCombined && !command.isInInputs) return;
    if (!isCombined && !hasSingleKeys.peek() && !command.isInInputs) return;
    if (inDialog && !isCombined && !command.isInInputs) return;
    e.preventDefault();
    command.run();
    return;
  }
  if (!inInput && !inDialog && commands.peek().some((c) => c.keys?.startsWith(`${name} `))) first = { key: name, at: Date.now() };
}

export function startKeys(): void {
  document.addEventListener("keydown", onKey);
}
