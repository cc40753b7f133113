// SPDX-License-Identifier: Apache-2.0
// snapshot_actions.tsx: what can be done with a snapshot, the same in a sandbox's tab and in the list of the project.
import { signal } from "@preact/signals";
import { call, linkOf } from "../api/call";
import { asApiError } from "../api/errors";
import {
  deleteApiSandboxSnapshotsId, getApiSandboxBackupsIdContent, postApiSandboxSnapshotsIdExport, postApiSandboxSnapshotsIdRestore, type Sandbox, type Snapshot,
} from "../api/generated";
import { snapshotExportSchema, snapshotRestoreSchema } from "../api/schemas";
import { ask } from "../parts/dialog";
import type { MenuItem } from "../parts/menu";
import { showHidden } from "../parts/safe";
import { go } from "../router";
import { snapshots } from "../store/lists";
import { sandboxes } from "../store/sandboxes";
import { missingScope } from "../store/session";
import { showToast, toastError } from "../store/toasts";
import { common as shared, snapshots as t } from "../text/en";
import { FormDialog } from "./form_dialog";
import { sandboxHref } from "./sandbox_actions";

/** Members that newer servers add. */
export type SnapshotRow = Snapshot & { size_bytes?: number; sandboxes?: number };

const nameOf = (snapshot: Snapshot): string => showHidden(snapshot.name, 60);

async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (thrown) {
    toastError(asApiError(thrown));
  }
}

async function askRestore(snapshot: Snapshot): Promise<void> {
  const yes = await ask({ title: t.restoreTitle(nameOf(snapshot)), text: t.restoreText(showHidden(snapshot.sandbox_name, 60)), yes: t.restore, isDangerous: true });
  if (!yes) return;
  await attempt(async () => {
    const found: Sandbox = await call(postApiSandboxSnapshotsIdRestore, { path: { id: snapshot.id }, body: {} });
    sandboxes.put(found);
    showToast({ kind: "done", text: t.restored, action: { label: t.show, run: () => go(sandboxHref(found.id)) } });
  });
}

async function askDeleteSnapshot(snapshot: Snapshot): Promise<void> {
  if (!(await ask({ title: t.deleteTitle(nameOf(snapshot)), text: t.deleteText, yes: shared.delete, isDangerous: true }))) return;
  await attempt(async () => {
    await call(deleteApiSandboxSnapshotsId, { path: { id: snapshot.id } });
    snapshots.remove(snapshot.id);
    showToast({ kind: "done", text: t.deleted(nameOf(snapshot)) });
  });
}

/** The dialog that a menu opened; shown by <SnapshotDialogs />. */
const open = signal<{ kind: "new" | "export"; snapshot: Snapshot } | null>(null);
export const openSnapshotDialog = (kind: "new" | "export", snapshot: Snapshot): void => void (open.value = { kind, snapshot });

/** Stands once on a page that offers snapshotMenu. */
export function SnapshotDialogs() {
  const shown = open.value;
  if (!shown) return null;
  const close = (): void => void (open.value = null);
  const { snapshot } = shown;
  if (shown.kind === "new") {
    return (
      <FormDialog
        title={t.newTitle(nameOf(snapshot))}
        yes={t.make}
        schema={snapshotRestoreSchema}
        fields={[{ name: "name", label: t.newName, help: t.newNameHelp }]}
        onClose={close}
        send={async (body) => {
          const made: Sandbox = await call(postApiSandboxSnapshotsIdRestore, { path: { id: snapshot.id }, body: { ...body, new: true } });
          sandboxes.reveal(made);
          showToast({ kind: "done", text: t.made(showHidden(made.name, 60)), action: { label: t.show, run: () => go(sandboxHref(made.id)) } });
        }}
      />
    );
  }
  return (
    <FormDialog
      title={t.exportTitle(nameOf(snapshot))}
      yes={t.export.replace("…", "")}
      schema={snapshotExportSchema}
      fields={[
        { name: "name", label: t.exportName },
        { name: "full", label: t.full.charAt(0).toUpperCase() + t.full.slice(1) },
      ]}
      onClose={close}
      send={async (body) => {
        await call(postApiSandboxSnapshotsIdExport, { path: { id: snapshot.id }, body });
        snapshots.loadSoon();
        showToast({ kind: "done", text: t.exportStarted });
      }}
    />
  );
}

/** The address of the newest export that is ready, or null. */
export function downloadOf(snapshot: Snapshot): string | null {
  const ready = snapshot.backups.findLast((b) => b.state === "ready");
  return ready ? linkOf(getApiSandboxBackupsIdContent.path, { id: ready.id }) : null;
}

export function snapshotMenu(snapshot: Snapshot): MenuItem[] {
  const lacks = (operation: { scopes: readonly string[] }): string | null => {
    const scope = missingScope(operation);
    return scope && shared.missingScope(scope);
  };
  const isReady = snapshot.state === "ready";
  const download = downloadOf(snapshot);
  const items: (MenuItem | false)[] = [
    isReady && { label: t.restoreNew, icon: "plus", disabledBecause: lacks(postApiSandboxSnapshotsIdRestore), run: () => openSnapshotDialog("new", snapshot) },
    isReady && { label: t.restore, icon: "reload", disabledBecause: lacks(postApiSandboxSnapshotsIdRestore), run: () => void askRestore(snapshot) },
    isReady && { label: t.export, icon: "archive", isApart: true, disabledBecause: lacks(postApiSandboxSnapshotsIdExport), run: () => openSnapshotDialog("export", snapshot) },
    download !== null && { label: t.download, icon: "download", run: () => location.assign(download) },
    { label: t.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: lacks(deleteApiSandboxSnapshotsId), run: () => void askDeleteSnapshot(snapshot) },
  ];
  return items.filter((i): i is MenuItem => i !== false);
}
