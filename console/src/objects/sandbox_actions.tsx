// SPDX-License-Identifier: Apache-2.0
// sandbox_actions.tsx: what can be done with a sandbox, the same in the table, in the detail's head and by keys.
import { call } from "../api/call";
import { asApiError } from "../api/errors";
import { getApiSandboxInstancesId, postApiSandboxInstancesIdKeepalive } from "../api/generated";
import { ask } from "../parts/dialog";
import { copyText } from "../parts/copy";
import type { MenuItem } from "../parts/menu";
import { showHidden } from "../parts/safe";
import { at, go, href } from "../router";
import { pendingOf, runPending } from "../store/pending";
import { forkSandbox, snapshotSandbox } from "../store/sandbox_calls";
import { actOnSandbox, canTake, OPERATION_OF_ACTION, type Sandbox, type SandboxAction } from "../store/sandboxes";
import { missingScope } from "../store/session";
import { showToast, toastError } from "../store/toasts";
import { runBulk } from "../store/tray";
import { common as shared, sandbox as t } from "../text/en";

export const sandboxHref = (id: string, tab?: string): string => href(tab ? at`sandboxes/${id}/${tab}` : at`sandboxes/${id}`);

/** Why the role forbids an action, or null. */
export function forbids(action: keyof typeof OPERATION_OF_ACTION): string | null {
  const scope = missingScope(OPERATION_OF_ACTION[action]);
  return scope === null ? null : shared.missingScope(scope);
}

/** The action that a state calls for first. */
export function primaryAction(sandbox: Pick<Sandbox, "state">): SandboxAction | null {
  if (canTake(sandbox, "start")) return "start";
  if (canTake(sandbox, "resume")) return "resume";
  return canTake(sandbox, "stop") ? "stop" : null;
}

const UNDO: Partial<Record<SandboxAction, SandboxAction>> = { stop: "start", pause: "resume" };

/** Start, resume, pause, stop and archive run at once: they can be undone. An error stays beside the row. */
export async function runAction(sandbox: Sandbox, action: SandboxAction): Promise<void> {
  const worked = await runPending(sandbox.id, action, () => actOnSandbox(sandbox.id, action));
  const undo = UNDO[action];
  if (worked && undo && t.done[action]) {
    showToast({ kind: "done", text: `${t.done[action]} ${showHidden(sandbox.name, 60)}`, action: { label: shared.undo, run: () => void runPending(sandbox.id, undo, () => actOnSandbox(sandbox.id, undo)) } });
  }
}

/** The ability of a provider, as the server names it. */
const KEEPS_MEMORY = "keep memory on disk";

/** Frees the host's memory of a virtual machine; a paused one moves to the disk, too. */
async function pauseToDisk(sandbox: Sandbox): Promise<void> {
  if (await runPending(sandbox.id, "pause", () => actOnSandbox(sandbox.id, "pause", undefined, { disk: true })))
    showToast({ kind: "done", text: `${t.done["pause"]} ${showHidden(sandbox.name, 60)}`, action: { label: shared.undo, run: () => void runPending(sandbox.id, "resume", () => actOnSandbox(sandbox.id, "resume")) } });
}

export async function takeSnapshot(sandbox: Sandbox): Promise<boolean> {
  return runPending(sandbox.id, "snapshot", async () => {
    const made = await snapshotSandbox(sandbox.id);
    showToast({ kind: "done", text: t.snapshotDone(showHidden(made.name, 60)) });
  });
}

export async function takeFork(sandbox: Sandbox, count = 1): Promise<boolean> {
  return runPending(sandbox.id, "fork", async () => {
    const ids = await forkSandbox(sandbox.id, count);
    const first = ids[0];
    showToast({ kind: "done", text: t.forkDone(ids.length), action: first ? { label: t.showFork, run: () => go(sandboxHref(first)) } : undefined });
  });
}

const NAMES_MAX = 5;

/** Asks once, says what is lost, offers a snapshot first. Resolves with whether it was done. */
export async function askDelete(list: readonly Sandbox[]): Promise<boolean> {
  const names = list.map((s) => showHidden(s.name, 60));
  const single = list.length === 1 ? list[0] : undefined;
  const yes = await ask({
    title: t.deleteTitle(names),
    yes: shared.delete,
    isDangerous: true,
    typed: list.length > 50 ? String(list.length) : undefined,
    text: (
      <>
        <p>{single ? t.deleteText : t.deleteMany}</p>
        {!single && (
          <p>
            {names.slice(0, NAMES_MAX).join(", ")} {names.length > NAMES_MAX && t.more(names.length - NAMES_MAX)}
          </p>
        )}
      </>
    ),
    other: single && canTake(single, "snapshot") ? { label: t.snapshotFirst, run: () => void takeSnapshot(single) } : undefined,
  });
  if (!yes) return false;
  if (single) return runPending(single.id, "delete", () => actOnSandbox(single.id, "delete"));
  await runBulk(t.deleteTitle(names).replace("?", ""), list.map((s) => s.id), (id, signal) => actOnSandbox(id, "delete", signal));
  return true;
}

async function keepAwake(sandbox: Sandbox): Promise<void> {
  try {
    await call(postApiSandboxInstancesIdKeepalive, { path: { id: sandbox.id }, body: { timeoutMs: 3_600_000 } });
    showToast({ kind: "done", text: t.awake });
  } catch (thrown) {
    toastError(asApiError(thrown));
  }
}

export function curlOf(method: string, path: string, body?: unknown): string {
  const lines = [`curl -X ${method} "${location.origin}${path}"`, '  -H "Authorization: Bearer $ATOLL_API_KEY"'];
  if (body !== undefined) lines.push("  -H 'Content-Type: application/json'", `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n");
}

const ICONS: Record<SandboxAction, string> = { start: "play", resume: "play", pause: "pause", stop: "stop", archive: "archive", delete: "trash" };
export const iconOfAction = (action: SandboxAction): string => ICONS[action];

/** The menu of a sandbox. What its state refuses is not listed; what the role refuses is disabled. */
export function sandboxMenu(sandbox: Sandbox): MenuItem[] {
  const items: (MenuItem | false)[] = [
    ...(["start", "resume", "pause", "stop"] as const).map((a) => canTake(sandbox, a) && { label: t.actions[a], icon: ICONS[a], disabledBecause: forbids(a), run: () => void runAction(sandbox, a) }),
    canTake(sandbox, "stop") && !(sandbox.unsupported ?? []).includes(KEEPS_MEMORY) && { label: t.pauseToDisk, icon: ICONS.pause, disabledBecause: forbids("pause"), run: () => void pauseToDisk(sandbox) },
    canTake(sandbox, "exec") && { label: t.actions.terminal, icon: "terminal", href: sandboxHref(sandbox.id, "terminal"), isApart: true },
    { label: t.actions.files, icon: "folder", href: sandboxHref(sandbox.id, "files") },
    canTake(sandbox, "exec") && { label: t.actions.preview, icon: "globe", href: sandboxHref(sandbox.id, "preview") },
    canTake(sandbox, "snapshot") && { label: t.actions.snapshot, icon: "camera", isApart: true, disabledBecause: forbids("snapshot"), run: () => void takeSnapshot(sandbox) },
    canTake(sandbox, "fork") && { label: t.actions.fork, icon: "fork", disabledBecause: forbids("fork"), run: () => void takeFork(sandbox) },
    canTake(sandbox, "archive") && { label: t.actions.archive, icon: "archive", disabledBecause: forbids("archive"), run: () => void runAction(sandbox, "archive") },
    sandbox.state === "started" && { label: t.actions.keepAwake, icon: "clock", disabledBecause: forbids("start"), run: () => void keepAwake(sandbox) },
    { label: t.actions.copyId, icon: "copy", isApart: true, run: () => void copyText(sandbox.id) },
    { label: t.actions.copyLink, icon: "link", run: () => void copyText(location.origin + sandboxHref(sandbox.id)) },
    { label: t.actions.copyCurl, icon: "copy", run: () => void copyText(curlOf("GET", getApiSandboxInstancesId.path.replace("{id}", sandbox.id))) },
    canTake(sandbox, "delete") && { label: t.actions.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: forbids("delete"), run: () => void askDelete([sandbox]) },
  ];
  return items.filter((i): i is MenuItem => i !== false);
}

/** "stopping…" beside the state, while this tab's action is under way. */
export function pendingText(id: string): string | null {
  const pending = pendingOf(id).value;
  return pending && !pending.error ? (t.doing[pending.action] ?? `${pending.action}…`) : null;
}
