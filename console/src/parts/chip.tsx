// SPDX-License-Identifier: Apache-2.0
// chip.tsx: states and labels. A state has a shape besides its colour; one that is not in the table shows its raw word.
import type { ComponentChildren } from "preact";
import { Icon } from "./icons";
import { showHidden } from "./safe";

type Tone = "good" | "warn" | "off" | "stored" | "bad" | "moving" | "plain";
type Shape = "dot" | "bars" | "ring" | "square" | "cross" | "arc" | "none";

const STATES: Record<string, [Tone, Shape]> = {
  started: ["good", "dot"], running: ["good", "dot"], ready: ["good", "dot"], ok: ["good", "dot"], active: ["good", "dot"], done: ["good", "dot"],
  completed: ["good", "dot"], approved: ["good", "dot"], delivered: ["good", "dot"], healthy: ["good", "dot"],
  paused: ["warn", "bars"], waiting: ["warn", "bars"], warned: ["warn", "bars"],
  stopped: ["off", "ring"], deleted: ["off", "ring"], cancelled: ["off", "ring"], used: ["off", "ring"], exited: ["off", "ring"],
  archived: ["stored", "square"],
  failed: ["bad", "cross"], refused: ["bad", "cross"], lost: ["bad", "cross"], unhealthy: ["bad", "cross"], "not connected": ["bad", "cross"], dead: ["bad", "cross"], exceeded: ["bad", "cross"], error: ["bad", "cross"],
  pending: ["moving", "arc"], creating: ["moving", "arc"], stopping: ["moving", "arc"], deleting: ["moving", "arc"], building: ["moving", "arc"],
  making: ["moving", "arc"], removing: ["moving", "arc"],
};

export function StateChip({ state, note }: { state: string; note?: string | null }) {
  const [tone, shape] = STATES[state] ?? ["plain", "none"];
  return (
    <span class={`chip tone-${tone}`} data-tip={note || undefined}>
      <span class={`shape shape-${shape}`} aria-hidden="true" />
      {showHidden(state, 40)}
    </span>
  );
}

export function Chip({ children, tone = "plain", tip, icon }: { children: ComponentChildren; tone?: Tone; tip?: string; icon?: string }) {
  return (
    <span class={`chip tone-${tone}`} data-tip={tip}>
      {icon && <Icon name={icon} size={12} />}
      <span class="chip-text">{children}</span>
    </span>
  );
}

/** A chip with a cross that removes it. */
export function RemovableChip({ children, label, onRemove }: { children: ComponentChildren; label: string; onRemove: () => void }) {
  return (
    <span class="chip tone-moving removable">
      {children}
      <button type="button" aria-label={label} onClick={onRemove}>
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

/** The first labels as chips, and how many more there are. */
export function LabelChips({ labels, shown = 2 }: { labels: Record<string, string> | null | undefined; shown?: number }) {
  const all = Object.entries(labels ?? {});
  const text = ([k, v]: [string, string]): string => showHidden(v === "" ? k : `${k}=${v}`, 80);
  if (all.length === 0) return null;
  return (
    <span class="chips" data-tip={all.map(text).join("\n")}>
      {all.slice(0, shown).map((entry) => (
        <span class="chip tone-plain label" key={entry[0]}>
          <bdi>{text(entry)}</bdi>
        </span>
      ))}
      {all.length > shown && <span class="muted">+{all.length - shown}</span>}
    </span>
  );
}

/** A bar of used against limit, with its figure. limit 0: none. */
export function Meter({ used, limit, text, label }: { used: number | null; limit: number; text: string; label: string }) {
  const share = used === null || limit <= 0 ? 0 : Math.min(1, used / limit);
  const tone = share >= 0.95 ? " full" : share >= 0.8 ? " high" : "";
  return (
    <span class={`meter${tone}`} data-tip={label}>
      <span class="meter-text">{text}</span>
      <svg class="meter-bar" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
        <rect class="meter-rest" width="100" height="3" />
        <rect class="meter-used" width={share * 100} height="3" />
      </svg>
    </span>
  );
}
