// SPDX-License-Identifier: Apache-2.0
// import_dialog.tsx: a template from an image of a registry, or from a file.
import { useRef, useState } from "preact/hooks";
import { addressOf, call } from "../../api/call";
import { asApiError, isAbort, type ApiError } from "../../api/errors";
import { postApiSandboxTemplates, postApiSandboxTemplatesImport } from "../../api/generated";
import { uploadFile } from "../../api/upload";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field, Segmented, SelectField, TextField } from "../../parts/field";
import { ErrorNote } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { at, go, href } from "../../router";
import { templates } from "../../store/lists";
import { showToast } from "../../store/toasts";
import { addTrayItem } from "../../store/tray";
import { common as shared, templates as t } from "../../text/en";

async function sendFile(name: string, format: string, file: File): Promise<void> {
  const abort = new AbortController();
  const item = addTrayItem({ title: t.importing(showHidden(name, 60)), total: file.size, link: "templates", cancel: () => abort.abort() });
  try {
    const address = addressOf(postApiSandboxTemplatesImport.path, {}, { name, format });
    await uploadFile("POST", address, file, { signal: abort.signal, onProgress: (done, total) => item.update({ done, total }) });
    item.update({ state: "done", done: file.size, cancel: undefined });
    templates.loadSoon();
  } catch (thrown) {
    item.update({ state: isAbort(thrown) ? "cancelled" : "failed", error: isAbort(thrown) ? null : asApiError(thrown), cancel: undefined });
  }
}

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const [way, setWay] = useState("image");
  const [name, setName] = useState("");
  const [image, setImage] = useState("");
  const [format, setFormat] = useState("tar");
  const [missing, setMissing] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const submit = async (): Promise<void> => {
    const file = input.current?.files?.[0];
    const lack = !name.trim() ? "name" : way === "image" ? (image.trim() ? null : "image") : file ? null : "file";
    setMissing(lack);
    setError(null);
    if (lack) return;
    if (way === "file" && file) {
      void sendFile(name.trim(), format, file);
      return onClose();
    }
    setBusy(true);
    try {
      const made = await call(postApiSandboxTemplates, { body: { name: name.trim(), image: image.trim() } });
      templates.reveal(made);
      showToast({ kind: "done", text: t.importStarted });
      onClose();
      go(href(at`templates/${made.id}`));
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t.importTitle}
      onClose={onClose}
      onSubmit={() => void submit()}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>{t.import.replace("…", "")}</Button>
        </>
      }
    >
      {error && <ErrorNote error={error} />}
      <div><Segmented label={t.importFrom} value={way} onChange={setWay} choices={Object.entries(t.importWays).map(([value, label]) => ({ value, label }))} /></div>
      <TextField label={t.buildName} value={name} isRequired maxLength={63} error={missing === "name" ? shared.required : null} onChange={setName} />
      {way === "image" ? (
        <TextField label={t.image} value={image} isRequired isMono help={t.imageHelp} error={missing === "image" ? shared.required : null} onChange={setImage} placeholder="docker.io/library/python:3.12" />
      ) : (
        <>
          <Field label={t.file} help={t.fileHelp} error={missing === "file" ? t.fileNeeded : null} isRequired>
            {(attributes) => <input {...attributes} ref={input} class="input" type="file" onChange={() => setMissing(null)} />}
          </Field>
          <SelectField label={t.format} value={format} onChange={setFormat} choices={Object.entries(t.formats).map(([value, label]) => ({ value, label }))} />
        </>
      )}
    </Dialog>
  );
}
