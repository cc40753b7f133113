// SPDX-License-Identifier: Apache-2.0
// The search box, the menus that write its tokens, and the tokens as chips.
import { computed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { dropPart, parseQuery, toggleValue } from "../../objects/sandbox_query";
import { RemovableChip } from "../../parts/chip";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icons";
import { useCommands } from "../../parts/keys";
import { MenuButton, type MenuItem } from "../../parts/menu";
import { showHidden } from "../../parts/safe";
import { sandboxes, type Sandbox } from "../../store/sandboxes";
import { SANDBOX_STATES } from "../../store/types";
import { sandboxes as t } from "../../text/en";

const CHOICES_MAX = 40;

/** Values that occur, or that the query names already: those can always be taken away. Read when rows come or go, not on each change. */
function useChoices(field: string, read: (s: Sandbox) => readonly string[], known: readonly string[]) {
  return useMemo(
    () =>
      computed(() => {
        const seen = new Set(known);
        for (const id of sandboxes.ids.value) for (const value of read(sandboxes.peek(id) as Sandbox)) if (seen.size < CHOICES_MAX) seen.add(value);
        return [...seen];
      }),
    [field],
  );
}

const labelsOf = (s: Sandbox): string[] => Object.entries((s.labels as Record<string, string> | null) ?? {}).map(([k, v]) => `${k}=${v}`);

export function FilterBar({ text, onChange, count }: { text: string; onChange: (text: string, isTyping: boolean) => void; count: string }) {
  const input = useRef<HTMLInputElement>(null);
  const query = parseQuery(text);
  const states = useChoices("state", () => [], SANDBOX_STATES.filter((s) => s !== "deleted"));
  const templates = useChoices("template", (s) => [s.template], []);
  const providers = useChoices("provider", (s) => [s.provider], []);
  const isolations = useChoices("isolation", (s) => [s.isolation], []);
  const labels = useChoices("label", labelsOf, []);
  useCommands([{ id: "sandboxes.search", title: t.searchLabel, keys: "/", section: t.title, icon: "search", run: () => input.current?.focus() }]);
  const menu = (field: string, choices: readonly string[]) => {
    const chosen = new Set(query.tokens.filter((x) => x.field === field).flatMap((x) => x.values));
    const items = (): MenuItem[] => [...new Set([...choices, ...chosen])].filter(Boolean).map((value) => ({ label: showHidden(value, 50), isChecked: chosen.has(value), run: () => onChange(toggleValue(text, field, value), false) }));
    return choices.length === 0 && chosen.size === 0 ? null : (
      <MenuButton key={field} items={items} label={t.filters[field] ?? field} button={{ icon: undefined }}>
        {t.filters[field]}
        <Icon name="down" size={12} />
      </MenuButton>
    );
  };
  const chips = [...query.tokens.map((x) => x.text), ...query.unknown];
  return (
    <div class="stack filter-bar">
      <div class="row">
        <span class="search-box">
          <Icon name="search" />
          <input
            ref={input}
            class="input"
            type="search"
            aria-label={t.searchLabel}
            placeholder={t.search}
            value={text}
            spellcheck={false}
            onInput={(e) => onChange(e.currentTarget.value, true)}
            onKeyDown={(e) => {
              if (e.key === "Escape" && text) onChange("", true);
              else if (e.key === "ArrowDown") document.querySelector<HTMLElement>("[role=grid]")?.focus();
            }}
          />
        </span>
        <span class="row" role="group" aria-label={t.filter}>
          {menu("state", states.value)}
          {menu("template", templates.value)}
          {providers.value.length > 1 && menu("provider", providers.value)}
          {isolations.value.length > 1 && menu("isolation", isolations.value)}
          {menu("label", labels.value)}
        </span>
        <span class="grow" />
        <span class="muted" role="status">
          {count}
        </span>
      </div>
      {chips.length > 0 && (
        <div class="row">
          {chips.map((part) => (
            <RemovableChip key={part} label={t.removeFilter(part)} onRemove={() => onChange(dropPart(text, part), false)}>
              <bdi>{showHidden(part, 80)}</bdi>
            </RemovableChip>
          ))}
          <Button kind="quiet" isSmall onClick={() => onChange("", false)}>
            {t.clear}
          </Button>
        </div>
      )}
    </div>
  );
}
