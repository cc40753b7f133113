// SPDX-License-Identifier: Apache-2.0
// A text file in the editor. Saving looks first whether something else has written the file meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, call } from "../../../api/call";
import { ApiError, asApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdFilesStat, putApiSandboxInstancesIdFilesContent, type FileEntry } from "../../../api/generated";
import { fetchRaw } from "../../../api/call";
import { Button } from "../../../parts/button";
import { ask } from "../../../parts/dialog";
import { formatBytes } from "../../../parts/format";
import { Lazy } from "../../../parts/lazy";
import { ErrorNote, Note } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Keys } from "../../../parts/text";
import { queryOf } from "../../../router";
import { missingScope } from "../../../store/session";
import { common as shared, sandboxFiles as t } from "../../../text/en";
import { TEXT_MAX } from "./content";
import type { FileProps } from "./file_view";
import { nameOf } from "./paths";

const load = () => import("../../../lazy/editor");

interface EditorProps extends FileProps {
  onDisk: FileEntry | null;
  text: string;
  isCut: boolean;
  /** Shows the file as it is on disk now. */
  onEntry: (entry: FileEntry) => void;
  onSaved: (entry: FileEntry) => void;
}

const isSame = (a: FileEntry, b: FileEntry): boolean => a.modified_at === b.modified_at && a.size === b.size;

export function TextEditor({ sandbox, path, entry, canWrite, onDisk, text, isCut, onEntry, onSaved }: EditorProps) {
  const now = useRef(text);
  const [saved, setSaved] = useState({ text, entry });
  const [isDirty, setDirty] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const scope = missingScope(putApiSandboxInstancesIdFilesContent);
  const isReadOnly = !canWrite || isCut || scope !== null;
  const isOther = onDisk !== null && !isSame(onDisk, saved.entry);

  useEffect(() => {
    now.current = text;
    setSaved({ text, entry });
    setDirty(false);
  }, [text, entry]);
  // Text without changes made here follows the disk.
  useEffect(() => {
    if (isOther && !isDirty && !isBusy && onDisk) onEntry(onDisk);
  }, [isOther, isDirty, isBusy, onDisk]);
  useEffect(() => {
    if (!isDirty) return;
    const warn = (e: BeforeUnloadEvent): void => e.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isDirty]);

  const save = async (): Promise<void> => {
    if (isReadOnly || isBusy) return;
    setBusy(true);
    setError(null);
    try {
      if (!(await isUntouched(sandbox.id, path, saved.entry)) && !(await ask({ title: t.changedTitle, text: t.changedText, yes: t.save, isDangerous: true }))) return;
      const sent = now.current;
      const address = addressOf(putApiSandboxInstancesIdFilesContent.path, { id: sandbox.id }, { path });
      const written = (await (await fetchRaw("PUT", address, { body: new Blob([sent]) })).json()) as FileEntry;
      setSaved({ text: sent, entry: written });
      setDirty(now.current !== sent);
      onSaved(written);
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  const change = (next: string): void => {
    now.current = next;
    setDirty(next !== saved.text);
  };
  return (
    <>
      {isCut && <Note tone="warn">{t.tooLarge(formatBytes(TEXT_MAX), formatBytes(entry.size))}</Note>}
      {error && <ErrorNote error={error} onRetry={() => void save()} onClose={() => setError(null)} />}
      {isDirty && isOther && onDisk && <Note tone="warn" action={<Button isSmall icon="reload" onClick={() => onEntry(onDisk)}>{t.reload}</Button>}>{t.changedNote}</Note>}
      {onDisk === null && <Note tone="warn">{t.gone}</Note>}
      <div class="row tight editor-bar">
        <Button kind="primary" isBusy={isBusy} isDisabled={isReadOnly || (!isDirty && onDisk !== null)} onClick={() => void save()}>{t.save}</Button>
        <Keys keys="Ctrl+S" />
        <span class="muted" role="status">{isReadOnly ? (scope ? shared.missingScope(scope) : t.readOnly) : isDirty ? t.unsaved : saved.text !== text ? t.saved : ""}</span>
      </div>
      <div class="file-editor">
        <Lazy load={load} lines={10} props={{
          label: t.editor(showHidden(nameOf(path), 60)), text, docKey: `${path} ${entry.modified_at}`, language: nameOf(path), isReadOnly,
          line: Number(queryOf("line")) || undefined, onChange: change, onSave: () => void save(),
        }} />
      </div>
    </>
  );
}

/** Whether the file on disk is the one that is shown here; one that is gone is. */
async function isUntouched(id: string, path: string, entry: FileEntry): Promise<boolean> {
  try {
    return isSame(await call(getApiSandboxInstancesIdFilesStat, { path: { id }, query: { path, follow: true } }), entry);
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return true;
    throw thrown;
  }
}
