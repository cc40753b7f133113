// SPDX-License-Identifier: Apache-2.0
// Keys that a phone's keyboard lacks.
import { sandboxTerminal as t } from "../../../text/en";

const KEYS: readonly (readonly [name: string, data: string])[] = [
  ["Esc", "\x1b"], ["Tab", "\t"], ["Ctrl+C", "\x03"], ["Ctrl+D", "\x04"], ["Ctrl+Z", "\x1a"], ["←", "\x1b[D"], ["↑", "\x1b[A"], ["↓", "\x1b[B"], ["→", "\x1b[C"],
];

export function KeyRow({ onKey }: { onKey: (data: string) => void }) {
  return (
    <div class="key-row" role="toolbar" aria-label={t.keys}>
      {KEYS.map(([name, data]) => (
        <button key={name} type="button" onClick={() => onKey(data)}>{name}</button>
      ))}
    </div>
  );
}
