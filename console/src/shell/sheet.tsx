// SPDX-License-Identifier: Apache-2.0
// sheet.tsx: all shortcuts that work here and now, from the one table of them.
import { Dialog } from "../parts/dialog";
import { CheckField } from "../parts/field";
import { commands, showKeys } from "../parts/keys";
import { hasSingleKeys } from "../store/preferences";
import { common as t } from "../text/en";

const TABLE_KEYS: readonly (readonly [string, string])[] = [
  ["j k ↓ ↑", "Next, previous row"],
  ["Enter o", "Open"],
  ["Space", "Peek"],
  ["x", "Select"],
  ["Shift+↓", "Select a range"],
  ["Ctrl+A", "Select all that match"],
  ["Esc", "Select none"],
];

export function Sheet({ onClose }: { onClose: () => void }) {
  const offered = commands.value.filter((c) => c.keys && c.section && (c.isOffered?.() ?? true));
  const sections = [...new Set(offered.map((c) => c.section))];
  return (
    <Dialog title={t.sheet.title} kind="wide" onClose={onClose}>
      <div class="sheet">
        {sections.map((section) => (
          <section key={section}>
            <h3>{section}</h3>
            <dl>
              {offered
                .filter((c) => c.section === section)
                .map((c) => (
                  <Shortcut key={c.id} keys={showKeys(c.keys ?? "")} title={c.title} />
                ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>{t.sheet.table}</h3>
          <dl>
            {TABLE_KEYS.map(([keys, title]) => (
              <Shortcut key={keys} keys={keys} title={title} />
            ))}
          </dl>
        </section>
      </div>
      <CheckField isSwitch label={t.sheet.off} help={t.sheet.offHelp} value={hasSingleKeys.value} onChange={(v) => (hasSingleKeys.value = v)} />
    </Dialog>
  );
}

function Shortcut({ keys, title }: { keys: string; title: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {keys.split(" ").map((k) => (
          <kbd key={k}>{k}</kbd>
        ))}
      </dd>
    </div>
  );
}
