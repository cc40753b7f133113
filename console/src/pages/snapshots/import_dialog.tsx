// SPDX-License-Identifier: Apache-2.0
// import_dialog.tsx: the file of an export becomes a snapshot: it is uploaded, checked by the server, and imported.
import { useRef, useState } from "preact/hooks";
import { addressOf, call } from "../../api/call";
import { asApiError, isAbort } from "../../api/errors";
import { postApiSandboxSnapshotsImport, putApiSandboxBackupsId, type Backup } from "../../api/generated";
import { uploadFile } from "../../api/upload";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field, TextField } from "../../parts/field";
import { showHidden } from "../../parts/safe";
import { snapshots } from "../../store/lists";
import { addTrayItem } from "../../store/tray";
import { common as shared, snapshots as t } from "../../text/en";

async function importFile(file: File, name: string): Promise<void> {
  const abort = new AbortController();
  const item = addTrayItem({ title: t.importing(showHidden(file.name, 60)), total: file.size, link: "snapshots", cancel: () => abort.abort() });
  const wanted = name || `import-${Date.now().toString(36)}`;
  try {
    const answer = await uploadFile("PUT", addressOf(putApiSandboxBackupsId.path, { id: wanted }), file, { signal: abort.signal, onProgress: (done, total) => item.update({ done, total }) });
    const backup = JSON.parse(answer) as Backup;
    const made = await call(postApiSandboxSnapshotsImport, { body: { backup: backup.id, name: name || undefined }, signal: abort.signal });
    snapshots.reveal(made);
    item.update({ state: "done", text: t.imported(showHidden(made.name, 60)), cancel: undefined });
  } catch (thrown) {
    item.update({ state: isAbort(thrown) ? "cancelled" : "failed", error: isAbort(thrown) ? null : asApiError(thrown), cancel: undefined });
  }
}

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (): void => {
    const file = input.current?.files?.[0];
    if (!file) return setProblem(t.fileNeeded);
    void importFile(file, name.trim());
    onClose();
  };
  return (
    <Dialog
      title={t.importTitle}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button type="submit" kind="primary">{t.import.replace("…", "")}</Button>
        </>
      }
    >
      <p class="muted">{t.importAbout}</p>
      <Field label={t.file} error={problem} isRequired>
        {(attributes) => <input {...attributes} ref={input} class="input" type="file" accept=".zst,.tar,application/zstd" onChange={() => setProblem(null)} />}
      </Field>
      <TextField label={t.importName} value={name} onChange={setName} maxLength={63} />
    </Dialog>
  );
}
