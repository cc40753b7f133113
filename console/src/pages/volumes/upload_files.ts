// SPDX-License-Identifier: Apache-2.0
// upload_files.ts: files into a folder of a volume, one after another, with progress in the tray.
import { addressOf } from "../../api/call";
import { asApiError, isAbort } from "../../api/errors";
import { putApiSandboxVolumesVolumeFilesContent } from "../../api/generated";
import { uploadFile } from "../../api/upload";
import { showHidden } from "../../parts/safe";
import { addTrayItem } from "../../store/tray";
import { volumes as t } from "../../text/en";

/** What is done leaves the tray; what failed stays. */
const DONE_MS = 3000;

export async function uploadFiles(volume: string, folder: string, files: readonly File[]): Promise<void> {
  for (const file of files) {
    const abort = new AbortController();
    const item = addTrayItem({ title: t.uploading(showHidden(file.name, 60)), total: file.size, cancel: () => abort.abort() });
    const path = folder === "/" ? `/${file.name}` : `${folder}/${file.name}`;
    try {
      await uploadFile("PUT", addressOf(putApiSandboxVolumesVolumeFilesContent.path, { volume }, { path }), file, { signal: abort.signal, onProgress: (done, total) => item.update({ done, total }) });
      item.update({ state: "done", done: file.size, cancel: undefined });
      setTimeout(item.remove, DONE_MS);
    } catch (thrown) {
      item.update({ state: isAbort(thrown) ? "cancelled" : "failed", error: isAbort(thrown) ? null : asApiError(thrown), cancel: undefined });
    }
  }
}
