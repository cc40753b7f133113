// SPDX-License-Identifier: Apache-2.0
// What can be done with all selected sandboxes at once.
import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { patchApiSandboxInstancesId } from "../../api/generated";
import { LabelDialog } from "../../objects/label_dialog";
import { askDelete, forbids, iconOfAction } from "../../objects/sandbox_actions";
import { Button } from "../../parts/button";
import { ask } from "../../parts/dialog";
import { MenuButton, type MenuItem } from "../../parts/menu";
import { showHidden } from "../../parts/safe";
import { snapshotSandbox } from "../../store/sandbox_calls";
import { actOnSandbox, canTake, sandboxes, type Sandbox, type SandboxAction } from "../../store/sandboxes";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { runBulk } from "../../store/tray";
import { common as shared, sandbox as words, sandboxes as t } from "../../text/en";

type Bulk = SandboxAction | "snapshot";
const SHOWN: readonly Bulk[] = ["start", "resume", "pause", "stop"];
const UNDO: Partial<Record<Bulk, SandboxAction>> = { stop: "start", pause: "resume" };
const ASK_FROM = 20;
const NAMES_MAX = 5;

function chosenOf(selection: ReadonlySet<string>): Sandbox[] {
  return [...selection].map((id) => sandboxes.peek(id)).filter((s) => s !== undefined);
}

async function confirmMany(action: string, able: readonly Sandbox[], all: number): Promise<boolean> {
  const names = able.slice(0, NAMES_MAX).map((s) => showHidden(s.name, 60));
  return ask({
    title: t.bulkTitle(action, able.length),
    yes: action,
    text: (
      <>
        <p>
          {names.join(", ")} {able.length > NAMES_MAX && words.more(able.length - NAMES_MAX)}
        </p>
        {able.length < all && <p>{t.cannot(able.length, all)}</p>}
      </>
    ),
  });
}

async function runOnAll(action: Bulk, list: readonly Sandbox[]): Promise<void> {
  const able = list.filter((s) => canTake(s, action));
  const name = words.actions[action];
  if (able.length === 0) return showToast({ kind: "error", text: t.cannot(0, list.length) });
  if (able.length >= ASK_FROM || able.length < list.length) if (!(await confirmMany(name, able, list.length))) return;
  const ids = able.map((s) => s.id);
  const each = action === "snapshot" ? (id: string) => snapshotSandbox(id) : (id: string, signal: AbortSignal) => actOnSandbox(id, action, signal);
  const failed = await runBulk(t.bulkTitle(name, ids.length), ids, each);
  const undo = UNDO[action];
  const worked = ids.filter((id) => !failed.includes(id));
  if (undo && worked.length) {
    showToast({ kind: "done", text: `${words.done[action] ?? name} ${worked.length}`, action: { label: shared.undo, run: () => void runBulk(t.bulkTitle(words.actions[undo], worked.length), worked, (id, signal) => actOnSandbox(id, undo, signal)) } });
  }
}

export function SelectionBar({ selection, shown }: { selection: Signal<ReadonlySet<string>>; shown: readonly string[] }) {
  const chosen = selection.value;
  const [labelling, setLabelling] = useState<readonly Sandbox[]>([]);
  if (chosen.size === 0) return null;
  const visible = shown.filter((id) => chosen.has(id)).length;
  const list = (): Sandbox[] => chosenOf(chosen);
  const able = chosenOf(chosen);
  const forbidsLabels = (): string | null => {
    const scope = missingScope(patchApiSandboxInstancesId);
    return scope && shared.missingScope(scope);
  };
  const more = (): MenuItem[] => [
    { label: words.actions.snapshot, icon: "camera", disabledBecause: forbids("snapshot"), run: () => void runOnAll("snapshot", list()) },
    { label: t.label, icon: "edit", disabledBecause: forbidsLabels(), run: () => setLabelling(list()) },
    { label: words.actions.archive, icon: "archive", disabledBecause: forbids("archive"), run: () => void runOnAll("archive", list()) },
  ];
  return (
    <div class="selection-bar" role="region" aria-label={t.selected(chosen.size, false)}>
      <span class="strong">{t.selected(chosen.size, visible === shown.length && visible === chosen.size && visible > 1)}</span>
      {visible < chosen.size && <span class="muted">{t.notShown(chosen.size - visible)}</span>}
      <span class="grow" />
      {SHOWN.filter((a) => able.some((s) => canTake(s, a))).map((a) => (
        <Button key={a} isSmall icon={a === "snapshot" ? "camera" : iconOfAction(a)} disabledBecause={forbids(a)} onClick={() => void runOnAll(a, list())}>
          {words.actions[a]}
        </Button>
      ))}
      <MenuButton items={more} label={t.more} button={{ isSmall: true }} />
      <Button isSmall kind="danger" icon="trash" disabledBecause={forbids("delete")} onClick={() => void askDelete(list().filter((s) => canTake(s, "delete"))).then((done) => done && (selection.value = new Set()))}>
        {words.actions.delete}
      </Button>
      <Button isSmall kind="quiet" icon="close" label={t.clearSelection} onClick={() => (selection.value = new Set())} />
      {labelling.length > 0 && <LabelDialog list={labelling} onClose={() => setLabelling([])} />}
    </div>
  );
}
