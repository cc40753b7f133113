// SPDX-License-Identifier: Apache-2.0
// file_actions.ts: what changes files. Each shows its failure as a toast or in the tray.
import { addressOf, call, linkOf } from "../../../api/call";
import { asApiError, isAbort } from "../../../api/errors";
import { deleteApiSandboxInstancesIdFiles, getApiSandboxInstancesIdFilesContent, getApiSandboxInstancesIdFilesTar, putApiSandboxInstancesIdFilesContent } from "../../../api/generated";
import { uploadFile } from "../../../api/upload";
import { ask } from "../../../parts/dialog";
import { showHidden } from "../../../parts/safe";
import { addTrayItem, runBulk } from "../../../store/tray";
import { sandboxFiles as t } from "../../../text/en";
import { joinPath } from "./paths";

const NAMES_SHOWN = 5;

export const contentLink = (id: string, path: string): string => linkOf(getApiSandboxInstancesIdFilesContent.path, { id }, { path });
export const tarLink = (id: string, path: string): string => linkOf(getApiSandboxInstancesIdFilesTar.path, { id }, { path });

const list = (names: readonly string[]): string => names.slice(0, NAMES_SHOWN).map((n) => showHidden(n, 60)).join(", ") + (names.length > NAMES_SHOWN ? ", …" : "");

/** Uploads into a folder one after the other, with one row in the tray. `existing`: names that are there, which are asked about. */
export async function uploadInto(id: string, folder: string, files: readonly File[], existing: ReadonlySet<string>): Promise<void> {
  const same = files.filter((f) => existing.has(f.name)).map((f) => f.name);
  if (files.length === 0) return;
  if (same.length && !(await ask({ title: t.replaceTitle(same.length), text: t.replaceText(list(same)), yes: t.replaceYes, isDangerous: true }))) return;
  const abort = new AbortController();
  const total = files.reduce((sum, f) => sum + f.size, 0);
  const first = files[0];
  const title = files.length === 1 && first ? t.uploading(showHidden(first.name, 60)) : t.uploadingMany(files.length);
  const item = addTrayItem({ title, total: Math.max(1, total), cancel: () => abort.abort() });
  let before = 0;
  try {
    for (const file of files) {
      const address = addressOf(putApiSandboxInstancesIdFilesContent.path, { id }, { path: joinPath(folder, file.name) });
      await uploadFile("PUT", address, file, { signal: abort.signal, onProgress: (sent) => item.update({ done: before + sent }) });
      before += file.size;
      item.update({ done: before });
    }
    item.update({ state: "done", done: Math.max(1, total), cancel: undefined });
  } catch (thrown) {
    if (isAbort(thrown)) item.update({ state: "cancelled", cancel: undefined });
    else item.update({ state: "failed", error: asApiError(thrown), cancel: undefined, retry: () => void uploadInto(id, folder, files, new Set()) });
  }
}

/** Asks once, then deletes all. False: not wanted. */
export async function deletePaths(id: string, folder: string, names: readonly string[]): Promise<boolean> {
  const yes = await ask({ title: t.deleteTitle(names.map((n) => showHidden(n, 60))), text: names.length > 1 ? `${list(names)}. ${t.deleteText}` : t.deleteText, yes: t.delete, isDangerous: true });
  if (!yes) return false;
  await runBulk(t.deleting(names.length), names, (name, signal) => call(deleteApiSandboxInstancesIdFiles, { path: { id }, query: { path: joinPath(folder, name), recursive: true }, signal }));
  return true;
}
