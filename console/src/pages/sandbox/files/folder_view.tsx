// SPDX-License-Identifier: Apache-2.0
// One folder as a table, live while it is in view; files that are dropped on it are uploaded.
import { signal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdFiles, postApiSandboxInstancesIdFilesMkdir, postApiSandboxInstancesIdFilesRename, putApiSandboxInstancesIdFilesContent, type FileEntry } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { formatBytes } from "../../../parts/format";
import { Icon } from "../../../parts/icons";
import { useCommands } from "../../../parts/keys";
import type { MenuItem } from "../../../parts/menu";
import { Empty, Loaded, Note } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Table, type Column } from "../../../parts/table";
import { Safe, Time } from "../../../parts/text";
import { useItems } from "../../../parts/view";
import { go, queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast, toastError } from "../../../store/toasts";
import { common as shared, sandboxFiles as t } from "../../../text/en";
import { chosenOf, chosenOfDrop, FILES_MAX, TooManyFiles, type Chosen } from "./chosen";
import { contentLink, deletePaths, tarLink, uploadInto } from "./file_actions";
import { NameDialog, type NameQuestion } from "./name_dialog";
import { fileHref, joinPath, normalPath } from "./paths";
import { useWatch } from "./watch";

const LIMIT = 20_000;

interface FolderProps {
  sandbox: Sandbox;
  path: string;
  canWrite: boolean;
}

export function FolderView({ sandbox, path, canWrite }: FolderProps) {
  const read = (s?: AbortSignal) => call(getApiSandboxInstancesIdFiles, { path: { id: sandbox.id }, query: { path, limit: LIMIT }, signal: s ?? null });
  const list = useResource(`files ${sandbox.id} ${path}`, read);
  const [own, setOwn] = useState(0);
  /** What the user has done here is put in its place at once, also under the pointer. */
  const refresh = (): void => void read().then((data) => {
    list.data.value = data;
    setOwn((n) => n + 1);
  }, list.reload);
  useWatch(sandbox.id, canWrite ? path : null, list.reload);
  const scope = missingScope(putApiSandboxInstancesIdFilesContent);
  return (
    <Loaded of={list} lines={8}>
      {(data) => (
        <>
          {data.truncated && <Note tone="warn">{t.truncated(data.items.length)}</Note>}
          <Entries sandbox={sandbox} path={path} items={data.items} canWrite={canWrite} forbidden={scope && shared.missingScope(scope)} order={String(own)} onChanged={refresh} />
        </>
      )}
    </Loaded>
  );
}

interface EntriesProps extends FolderProps {
  items: readonly FileEntry[];
  forbidden: string | null;
  /** Another one arranges the rows anew. */
  order: string;
  onChanged: () => void;
}

const isFolder = (f: FileEntry): boolean => f.type === "directory";
const folderFirst = (f: FileEntry): string => `${isFolder(f) ? "0" : "1"}${f.name}`;

function columnsOf(hrefOf: (f: FileEntry) => string): readonly Column<FileEntry>[] {
  return [
    { id: "name", title: t.name, width: 220, grow: 1, isFixed: true, phone: "title", sort: folderFirst, cell: (f) => (
      <a class="file-name" href={hrefOf(f)}>
        <Icon name={isFolder(f) ? "folder" : f.type === "symlink" ? "link" : "file"} />
        <span class="cut"><Safe text={f.name} /></span>
        {f.link !== null && <span class="muted cut"><Safe text={t.link(f.link)} max={80} /></span>}
      </a>
    ) },
    { id: "size", title: t.size, width: 100, align: "end", phone: "side", sort: (f) => (isFolder(f) ? -1 : f.size), cell: (f) => (isFolder(f) ? <span class="muted">{t.folder}</span> : formatBytes(f.size)) },
    { id: "modified", title: t.modified, width: 130, phone: "meta", sort: (f) => f.modified_at, cell: (f) => <Time at={f.modified_at} /> },
    { id: "mode", title: t.mode, width: 80, cell: (f) => <span class="mono">{f.mode}</span> },
    { id: "owner", title: t.owner, width: 100, isOff: true, cell: (f) => <span class="mono">{`${f.uid}:${f.gid}`}</span> },
  ];
}

function Entries(props: EntriesProps) {
  const { sandbox, path, items, canWrite, forbidden, order, onChanged } = props;
  const source = useItems(items, (f) => f.name);
  const selection = useMemo(() => signal<ReadonlySet<string>>(new Set()), [path]);
  const [question, setQuestion] = useState<NameQuestion | null>(null);
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const folderPicker = useRef<HTMLInputElement>(null);
  const hrefOf = (f: FileEntry): string => fileHref(sandbox.id, joinPath(path, f.name));
  const columns = useMemo(() => columnsOf(hrefOf), [sandbox.id, path]);
  const cannot = canWrite ? forbidden : t.stoppedNote;
  const upload = async (chosen: Promise<Chosen[]> | Chosen[]): Promise<void> => {
    try {
      await uploadInto(sandbox.id, path, await chosen, new Set(items.map((f) => f.name)));
    } catch (thrown) {
      if (thrown instanceof TooManyFiles) showToast({ kind: "error", text: t.tooMany(FILES_MAX) });
      else toastError(asApiError(thrown));
    }
    onChanged();
  };
  const remove = async (names: readonly string[]): Promise<void> => {
    if (await deletePaths(sandbox.id, path, names)) {
      selection.value = new Set();
      onChanged();
    }
  };
  const make = (kind: "folder" | "file"): void => setQuestion({
    title: kind === "folder" ? t.newFolder : t.newFile, label: kind === "folder" ? t.folderName : t.fileName, initial: "",
    send: async (name) => {
      const target = joinPath(path, name);
      if (kind === "folder") await call(postApiSandboxInstancesIdFilesMkdir, { path: { id: sandbox.id }, body: { path: target } });
      else await call(putApiSandboxInstancesIdFilesContent, { path: { id: sandbox.id }, query: { path: target, no_replace: true }, body: "" as never });
      if (kind === "file") go(fileHref(sandbox.id, target));
      else onChanged();
    },
  });
  const rename = (f: FileEntry): void => setQuestion({
    title: t.rename, label: t.newPath, initial: joinPath(path, f.name), isPath: true,
    send: async (target) => {
      await call(postApiSandboxInstancesIdFilesRename, { path: { id: sandbox.id }, body: { path: joinPath(path, f.name), target: target.startsWith("/") ? normalPath(target) : joinPath(path, target), no_replace: true } });
      onChanged();
    },
  });
  const menuOf = (f: FileEntry): MenuItem[] => [
    isFolder(f)
      ? { label: t.downloadTar, icon: "download", run: () => location.assign(tarLink(sandbox.id, joinPath(path, f.name))) }
      : { label: t.download, icon: "download", run: () => location.assign(contentLink(sandbox.id, joinPath(path, f.name))) },
    { label: t.rename, icon: "edit", disabledBecause: cannot, run: () => rename(f) },
    { label: t.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: cannot, run: () => void remove([f.name]) },
  ];
  useCommands([
    { id: "files.folder", title: t.newFolder, keys: "c", icon: "folder", section: t.title, isOffered: () => cannot === null, run: () => make("folder") },
    { id: "files.uploadFolder", title: t.uploadFolder, icon: "upload", section: t.title, isOffered: () => cannot === null, run: () => folderPicker.current?.click() },
    { id: "files.upload", title: t.upload, icon: "upload", section: t.title, isOffered: () => cannot === null, run: () => picker.current?.click() },
  ]);
  // The types of Preact know no webkitdirectory.
  useEffect(() => void folderPicker.current?.toggleAttribute("webkitdirectory", true), []);
  const onPick = (e: TargetedEvent<HTMLInputElement>): void => {
    void upload(chosenOf(e.currentTarget.files));
    e.currentTarget.value = "";
  };
  const onDrop = (e: DragEvent): void => {
    e.preventDefault();
    setOver(false);
    if (cannot === null) void upload(chosenOfDrop(e.dataTransfer));
  };
  return (
    <div class={`folder${isOver && cannot === null ? " is-over" : ""}`} data-drop={t.drop} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={(e) => e.currentTarget === e.target && setOver(false)} onDrop={onDrop}>
      <div class="row tight">
        <Button icon="upload" disabledBecause={cannot} onClick={() => picker.current?.click()}>{t.upload}</Button>
        <Button icon="upload" disabledBecause={cannot} onClick={() => folderPicker.current?.click()}>{t.uploadFolder}</Button>
        <Button icon="folder" disabledBecause={cannot} onClick={() => make("folder")}>{t.newFolder}</Button>
        <Button icon="file" disabledBecause={cannot} onClick={() => make("file")}>{t.newFile}</Button>
        <Button kind="quiet" icon="download" onClick={() => location.assign(tarLink(sandbox.id, path))}>{t.downloadTar}</Button>
        {selection.value.size > 0 && (
          <>
            <span class="muted">{t.selected(selection.value.size)}</span>
            <Button kind="danger" icon="trash" disabledBecause={cannot} onClick={() => void remove([...selection.value])}>{t.delete}</Button>
            <Button kind="quiet" onClick={() => (selection.value = new Set())}>{t.unselect}</Button>
          </>
        )}
        <input ref={picker} type="file" multiple hidden aria-label={t.upload} onChange={onPick} />
        <input ref={folderPicker} type="file" hidden aria-label={t.uploadFolder} onChange={onPick} />
      </div>
      <Table name="files" label={`${t.title} ${showHidden(path)}`} source={source} columns={columns} nameOf={(f) => f.name} hrefOf={hrefOf} filterKey={order} selection={selection} menuOf={menuOf}
        sort={queryOf("sort") || "name"} onSort={(sort) => setQuery({ sort })} onOpen={(f) => go(hrefOf(f))}
        empty={<Empty icon="folder" title={t.empty}>{canWrite ? t.emptyText : t.emptyReadOnly}</Empty>} />
      {question && <NameDialog question={question} onClose={() => setQuestion(null)} />}
    </div>
  );
}
