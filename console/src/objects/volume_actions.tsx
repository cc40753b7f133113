// SPDX-License-Identifier: Apache-2.0
// volume_actions.tsx: create, grow, attach, detach and delete volumes.
import { call } from "../api/call";
import { asApiError } from "../api/errors";
import {
  deleteApiSandboxInstancesIdVolume, deleteApiSandboxVolumesVolume, deleteV1WorkspacesWorkspace, patchApiSandboxVolumesVolume, postApiSandboxInstancesIdVolume, postApiSandboxVolumes,
  type Volume, type VolumeMount,
} from "../api/generated";
import { volumeAttachSchema, volumeCreateSchema, volumeGrowSchema } from "../api/schemas";
import { ask } from "../parts/dialog";
import type { FormField } from "../parts/form";
import { showHidden } from "../parts/safe";
import { volumes } from "../store/lists";
import { sandboxes } from "../store/sandboxes";
import { missingScope } from "../store/session";
import { showToast, toastError } from "../store/toasts";
import { common as shared, volumes as t } from "../text/en";
import { FormDialog } from "./form_dialog";

const nameOf = (volume: Volume): string => showHidden(volume.workspace ?? volume.name, 60);

/** Why the role forbids changes of volumes, or null. */
export function volumeForbids(): string | null {
  const scope = missingScope(postApiSandboxVolumes);
  return scope && shared.missingScope(scope);
}

export function CreateVolumeDialog({ onClose }: { onClose: () => void }) {
  const fields: readonly FormField[] = [
    { name: "name", label: t.name, help: t.nameHelp, isRequired: true },
    { name: "size_mb", label: t.sizeLabel, unit: t.mib },
  ];
  return (
    <FormDialog
      title={t.createTitle}
      yes={shared.create}
      fields={fields}
      schema={volumeCreateSchema}
      onClose={onClose}
      send={async (body) => {
        const made = await call(postApiSandboxVolumes, { body: { ...body, name: String(body["name"]) } });
        volumes.reveal(made);
        showToast({ kind: "done", text: t.made(nameOf(made)) });
      }}
    />
  );
}

export function GrowVolumeDialog({ volume, onClose }: { volume: Volume; onClose: () => void }) {
  return (
    <FormDialog
      title={t.growTitle(nameOf(volume))}
      yes={t.grow.replace("…", "")}
      fields={[{ name: "size_mb", label: t.sizeLabel, unit: t.mib, isRequired: true }]}
      schema={volumeGrowSchema}
      initial={{ size_mb: volume.size_mb > 0 ? String(volume.size_mb) : "" }}
      onClose={onClose}
      send={async (body) => {
        volumes.patch(volume.id, await call(patchApiSandboxVolumesVolume, { path: { volume: volume.id }, body: { size_mb: Number(body["size_mb"]) } }));
        showToast({ kind: "done", text: t.grown });
      }}
    />
  );
}

export function AttachVolumeDialog({ volume, onClose }: { volume: Volume; onClose: () => void }) {
  sandboxes.ensure();
  const choices = sandboxes.items
    .filter((s) => s.state !== "deleted" && s.state !== "deleting")
    .map((s) => ({ value: s.id, label: `${showHidden(s.name, 60)} · ${s.state}` }));
  const fields: readonly FormField[] = [
    { name: "sandbox", label: t.sandbox, isRequired: true, choices: [{ value: "", label: "–" }, ...choices] },
    { name: "path", label: t.path, placeholder: "/workspace", isMono: true },
    { name: "subpath", label: t.subpath, isMono: true },
    { name: "read_only", label: t.readOnly },
  ];
  return (
    <FormDialog
      title={t.attachTitle(nameOf(volume))}
      yes={t.attach.replace("…", "")}
      fields={fields}
      schema={{ ...volumeAttachSchema, sandbox: { type: "string" } }}
      onClose={onClose}
      send={async ({ sandbox, ...body }) => {
        await call(postApiSandboxInstancesIdVolume, { path: { id: String(sandbox) }, body: { ...body, volume: volume.id } });
        volumes.loadSoon();
        showToast({ kind: "done", text: t.attachDone });
      }}
    />
  );
}

/** Asks, and asks again before files are taken from running programs. */
export async function detachVolume(mount: VolumeMount): Promise<void> {
  if (!(await ask({ title: t.detachTitle(showHidden(mount.volume, 60), showHidden(mount.sandbox, 60)), text: t.detachText, yes: t.detach }))) return;
  const detach = (force: boolean): Promise<unknown> => call(deleteApiSandboxInstancesIdVolume, { path: { id: mount.sandbox_id }, query: { volume: mount.volume_id, force: force || undefined } });
  try {
    await detach(false);
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.status !== 409 || !(await ask({ title: t.detachForceTitle, text: <><p>{showHidden(error.message, 300)}</p><p>{t.detachForce}</p></>, yes: t.detach, isDangerous: true }))) return toastError(error);
    await detach(true).catch((again: unknown) => toastError(asApiError(again)));
  }
  volumes.loadSoon();
  showToast({ kind: "done", text: t.detached });
}

/** Resolves with whether the volume is gone. */
export async function askDeleteVolume(volume: Volume): Promise<boolean> {
  if (!(await ask({ title: t.deleteTitle(nameOf(volume)), text: t.deleteText, yes: shared.delete, isDangerous: true }))) return false;
  try {
    if (volume.workspace) await call(deleteV1WorkspacesWorkspace, { path: { workspace: volume.workspace } });
    else await call(deleteApiSandboxVolumesVolume, { path: { volume: volume.id } });
    volumes.remove(volume.id);
    showToast({ kind: "done", text: t.deleted(nameOf(volume)) });
    return true;
  } catch (thrown) {
    toastError(asApiError(thrown));
    return false;
  }
}
