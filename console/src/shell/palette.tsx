// SPDX-License-Identifier: Apache-2.0
// palette.tsx: Ctrl-K: pages, commands of what is open, sandboxes and templates by name. What was used last comes first.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog";
import { fuzzyScore } from "../parts/fuzzy";
import { Icon } from "../parts/icons";
import { commands, showKeys } from "../parts/keys";
import { showHidden } from "../parts/safe";
import { at, go, href } from "../router";
import { templates } from "../store/lists";
import { preference } from "../store/preferences";
import { sandboxes } from "../store/sandboxes";
import { hasScope } from "../store/session";
import { common as t } from "../text/en";

interface Entry {
  id: string;
  title: string;
  section: string;
  icon?: string;
  keys?: string;
  run: () => void;
}

const SHOWN_MAX = 50;
const RECENT_MAX = 6;
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((v) => typeof v === "string");
const recent = preference<string[]>("palette-recent", [], isTexts);

function allEntries(): Entry[] {
  const list: Entry[] = commands.value.filter((c) => c.id !== "palette" && (c.isOffered?.() ?? true));
  const boxes = sandboxes.ids.value.map((id) => sandboxes.peek(id)).filter((s) => s !== undefined);
  return [
    ...list,
    ...boxes.map((s) => ({ id: `sandbox.${s.id}`, title: showHidden(s.name, 80), section: t.palette.sandboxes, icon: "box", run: () => go(href(at`sandboxes/${s.id}`)) })),
    ...templates.items.map((x) => ({ id: `template.${x.id}`, title: showHidden(x.name, 80), section: t.palette.templates, icon: "layers", run: () => go(href(at`templates/${x.name}`)) })),
  ];
}

function findEntries(entries: readonly Entry[], text: string): Entry[] {
  if (text.trim() === "") {
    const used = recent.value.map((id) => entries.find((e) => e.id === id)).filter((e) => e !== undefined);
    const rest = entries.filter((e) => !recent.value.includes(e.id) && e.section !== t.palette.sandboxes && e.section !== t.palette.templates);
    return [...used.map((e) => ({ ...e, section: t.palette.recent })), ...rest];
  }
  return entries
    .map((e) => ({ e, score: fuzzyScore(text, e.title) }))
    .filter((x) => x.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, SHOWN_MAX)
    .map((x) => x.e);
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  useEffect(() => {
    if (!hasScope("sandbox:read")) return;
    sandboxes.ensure();
    templates.ensure();
  }, []);
  const entries = allEntries();
  const shown = useMemo(() => findEntries(entries, text), [text, entries.length]);
  useEffect(() => document.getElementById(`command-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen]);
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    recent.value = [entry.id, ...recent.value.filter((id) => id !== entry.id)].slice(0, RECENT_MAX);
    onClose();
    entry.run();
  };
  const onKey = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown") choose(Math.min(shown.length - 1, chosen + 1));
    else if (e.key === "ArrowUp") choose(Math.max(0, chosen - 1));
    else if (e.key === "Enter" && !e.isComposing) run(shown[chosen]);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog title={t.palette.title} kind="normal" onClose={onClose}>
      <div class="palette">
        <input
          class="input"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="commands"
          aria-activedescendant={shown.length ? `command-${chosen}` : undefined}
          aria-label={t.palette.input}
          placeholder={t.palette.input}
          value={text}
          autoFocus
          spellcheck={false}
          onInput={(e) => (setText(e.currentTarget.value), choose(0))}
          onKeyDown={onKey}
        />
        <div class="palette-list" id="commands" role="listbox" aria-label={t.palette.title}>
          {shown.map((entry, i) => (
            <PaletteRow key={entry.id} entry={entry} index={i} isChosen={i === chosen} hasSection={text !== ""} heading={entry.section !== shown[i - 1]?.section && text === "" ? entry.section : null} onRun={() => run(entry)} />
          ))}
        </div>
        {shown.length === 0 && <p class="muted palette-none">{t.palette.nothing}</p>}
        <span class="off-screen" role="status">
          {t.palette.results(shown.length)}
        </span>
      </div>
    </Dialog>
  );
}

function PaletteRow({ entry, index, isChosen, hasSection, heading, onRun }: { entry: Entry; index: number; isChosen: boolean; hasSection: boolean; heading: string | null; onRun: () => void }) {
  return (
    <>
      {heading && (
        <div class="palette-heading" role="presentation">
          {heading}
        </div>
      )}
      <div id={`command-${index}`} class={`palette-row${isChosen ? " chosen" : ""}`} role="option" aria-selected={isChosen} onClick={onRun}>
        <Icon name={entry.icon ?? "right"} />
        <span class="grow">{entry.title}</span>
        {hasSection && <span class="meta">{entry.section}</span>}
        {entry.keys && <kbd>{showKeys(entry.keys)}</kbd>}
      </div>
    </>
  );
}
