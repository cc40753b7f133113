// SPDX-License-Identifier: Apache-2.0
// file_actions.ts: what changes files. Each shows its failure as a toast or in the tray.
import { addressOf, call, linkOf } from "../../../api/call";
import { asApiError, isAbort } from "../../../api/errors";
import { deleteApiSandboxInstancesIdFiles, getApiSandboxInstancesIdFilesContent, getApiSandboxInstancesIdFilesTar, postApiSandboxInstancesIdFilesMkdir, putApiSandboxInstancesIdFilesContent } from "../../../api/generated";
import { uploadFile } from "../../../api/upload";
import { ask } from "../../../parts/dialog";
import { showHidden } from "../../../parts/safe";
import { showToast } from "../../../store/toasts";
import { addTrayItem, runBulk } from "../../../store/tray";
import { sandboxFiles as t } from "../../../text/en";
import { FILES_MAX, type Chosen } from "./chosen";
import { joinPath } from "./paths";

const NAMES_SHOWN = 5;

export const contentLink = (id: string, path: string): string => linkOf(getApiSandboxInstancesIdFilesContent.path, { id }, { path });
export const tarLink = (id: string, path: string): string => linkOf(getApiSandboxInstancesIdFilesTar.path, { id }, { path });

const list = (names: readonly string[]): string => names.slice(0, NAMES_SHOWN).map((n) => showHidden(n, 60)).join(", ") + (names.length > NAMES_SHOWN ? ", …" : "");

/** Names of the folder that the upload would change. */
function sameNames(chosen: readonly Chosen[], existing: ReadonlySet<string>): string[] {
  return [...new Set(chosen.map((c) => c.path.split("/", 1)[0] ?? ""))].filter((name) => existing.has(name));
}

function askReplace(same: readonly string[], chosen: readonly Chosen[]): Promise<boolean> {
  const hasFolder = chosen.some((c) => c.path.includes("/"));
  return ask({ title: t.replaceTitle(same.length), text: (hasFolder ? t.mergeText : t.replaceText)(list(same)), yes: t.replaceYes, isDangerous: true });
}

async function uploadOne(id: string, path: string, file: File | null, options: { signal: AbortSignal; onProgress: (sent: number) => void }): Promise<void> {
  if (file) await uploadFile("PUT", addressOf(putApiSandboxInstancesIdFilesContent.path, { id }, { path }), file, options);
  else await call(postApiSandboxInstancesIdFilesMkdir, { path: { id }, body: { path }, signal: options.signal });
}

/** Uploads into a folder one after the other, with one row in the tray. `existing`: names that are there, which are asked about. */
export async function uploadInto(id: string, folder: string, chosen: readonly Chosen[], existing: ReadonlySet<string>): Promise<void> {
  const same = sameNames(chosen, existing);
  if (chosen.length === 0) return;
  if (chosen.length > FILES_MAX) return void showToast({ kind: "error", text: t.tooMany(FILES_MAX) });
  if (same.length && !(await askReplace(same, chosen))) return;
  const abort = new AbortController();
  const total = chosen.reduce((sum, c) => sum + (c.file?.size ?? 0), 0);
  const first = chosen[0];
  const title = chosen.length === 1 && first ? t.uploading(showHidden(first.path, 60)) : t.uploadingMany(chosen.filter((c) => c.file).length);
  const item = addTrayItem({ title, total: Math.max(1, total), cancel: () => abort.abort() });
  let before = 0;
  try {
    for (const { path, file } of chosen) {
      await uploadOne(id, joinPath(folder, path), file, { signal: abort.signal, onProgress: (sent) => item.update({ done: before + sent }) });
      before += file?.size ?? 0;
      item.update({ done: before });
    }
    item.update({ state: "done", done: Math.max(1, total), cancel: undefined });
  } catch (thrown) {
    if (isAbort(thrown)) item.update({ state: "cancelled", cancel: undefined });
    else item.update({ state: "failed", error: asApiError(thrown), cancel: undefined, retry: () => void uploadInto(id, folder, chosen, new Set()) });
  }
}

/** Asks once, then deletes all. False: not wanted. */
export async function deletePaths(id: string, folder: string, names: readonly string[]): Promise<boolean> {
  const yes = await ask({ title: t.deleteTitle(names.map((n) => showHidden(n, 60))), text: names.length > 1 ? `${list(names)}. ${t.deleteText}` : t.deleteText, yes: t.delete, isDangerous: true });
  if (!yes) return false;
  await runBulk(t.deleting(names.length), names, (name, signal) => call(deleteApiSandboxInstancesIdFiles, { path: { id }, query: { path: joinPath(folder, name), recursive: true }, signal }));
  return true;
}
