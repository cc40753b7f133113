// SPDX-License-Identifier: Apache-2.0
// files.tsx: the files of a volume: browse, upload by button or drop, make folders, rename, download, delete.
import { useRef, useState } from "preact/hooks";
import { call, linkOf } from "../../api/call";
import { asApiError, type ApiError } from "../../api/errors";
import {
  deleteApiSandboxVolumesVolumeFiles, getApiSandboxVolumesVolumeFiles, getApiSandboxVolumesVolumeFilesContent, getApiSandboxVolumesVolumeFilesTar,
  postApiSandboxVolumesVolumeFilesMkdir, postApiSandboxVolumesVolumeFilesRename, type FileEntry,
} from "../../api/generated";
import { FormDialog } from "../../objects/form_dialog";
import { volumeForbids } from "../../objects/volume_actions";
import { Button, ButtonLink } from "../../parts/button";
import { ask } from "../../parts/dialog";
import { formatBytes } from "../../parts/format";
import { Icon } from "../../parts/icons";
import { Card } from "../../parts/layout";
import { MenuButton, type MenuItem } from "../../parts/menu";
import { Empty, ErrorNote, Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Safe, Time } from "../../parts/text";
import { at, href } from "../../router";
import { useResource } from "../../store/resource";
import { common as shared, volumes as t } from "../../text/en";
import { uploadFiles } from "./upload_files";

const SHOWN = 1000;
const hrefOf = (volume: string, path: string): string => href(at`volumes/${volume}` + path.split("/").filter(Boolean).map((p) => `/${encodeURIComponent(p)}`).join(""));
const joined = (folder: string, name: string): string => (folder === "/" ? `/${name}` : `${folder}/${name}`);
const checkedName = (name: unknown): string => {
  if (String(name).includes("/")) throw new Error(t.badName);
  return String(name);
};

async function readFolder(volume: string, path: string, signal: AbortSignal): Promise<FileEntry[]> {
  const found = await call(getApiSandboxVolumesVolumeFiles, { path: { volume }, query: { path, limit: SHOWN }, signal });
  return [...found.items].sort((a, b) => Number(b.type === "directory") - Number(a.type === "directory") || (a.name < b.name ? -1 : 1));
}

type Open = { kind: "folder" } | { kind: "rename"; entry: FileEntry };

/** path: of the folder, without a slash at its ends. */
export function VolumeFiles({ volume, path }: { volume: string; path: string }) {
  const folder = `/${path}`.replace(/\/+$/, "") || "/";
  const files = useResource(`files ${volume} ${folder}`, (signal) => readFolder(volume, folder, signal), { kinds: ["volume.*"], onFocus: true });
  const [open, setOpen] = useState<Open | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const why = volumeForbids();
  const send = (list: FileList | null | undefined): void => {
    if (list?.length && !why) void uploadFiles(volume, folder, [...list]).then(files.reload);
  };
  const attempt = (run: () => Promise<unknown>): void => {
    setError(null);
    run().then(files.reload, (thrown: unknown) => setError(asApiError(thrown)));
  };
  return (
    <Card
      title={t.files}
      actions={
        <>
          <ButtonLink isSmall icon="download" download label={t.downloadTar} href={linkOf(getApiSandboxVolumesVolumeFilesTar.path, { volume }, { path: folder })} />
          <Button isSmall icon="folder" disabledBecause={why} onClick={() => setOpen({ kind: "folder" })}>{t.newFolder}</Button>
          <Button isSmall icon="upload" disabledBecause={why} onClick={() => input.current?.click()}>{t.upload}</Button>
          <input ref={input} type="file" multiple hidden aria-label={t.upload} onChange={(e) => (send(e.currentTarget.files), (e.currentTarget.value = ""))} />
        </>
      }
    >
      <Crumbs volume={volume} folder={folder} />
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <div
        class={`volume-files${isOver ? " dropping" : ""}`}
        onDragOver={(e) => (e.preventDefault(), setOver(true))}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => (e.preventDefault(), setOver(false), send(e.dataTransfer?.files))}
      >
        <Loaded of={files} lines={6}>
          {(entries) => (entries.length === 0 ? <Empty icon="folder" title={t.emptyFolder}>{t.emptyFolderText}</Empty> : <FileTable volume={volume} folder={folder} entries={entries} attempt={attempt} onOpen={setOpen} why={why} />)}
        </Loaded>
      </div>
      {open?.kind === "folder" && (
        <FormDialog
          title={t.folderTitle}
          yes={shared.create}
          schema={{ name: { type: "string", maxLength: 255 } }}
          fields={[{ name: "name", label: t.folderName, isRequired: true }]}
          onClose={() => setOpen(null)}
          send={async (body) => (await call(postApiSandboxVolumesVolumeFilesMkdir, { path: { volume }, body: { path: joined(folder, checkedName(body["name"])) } }), files.reload())}
        />
      )}
      {open?.kind === "rename" && (
        <FormDialog
          title={t.renameTitle(showHidden(open.entry.name, 60))}
          yes={t.rename.replace("…", "")}
          schema={{ name: { type: "string", maxLength: 255 } }}
          fields={[{ name: "name", label: t.newName, isRequired: true }]}
          initial={{ name: open.entry.name }}
          onClose={() => setOpen(null)}
          send={async (body) => (await call(postApiSandboxVolumesVolumeFilesRename, { path: { volume }, body: { path: joined(folder, open.entry.name), target: joined(folder, checkedName(body["name"])) } }), files.reload())}
        />
      )}
    </Card>
  );
}

function Crumbs({ volume, folder }: { volume: string; folder: string }) {
  const parts = folder.split("/").filter(Boolean);
  return (
    <nav class="crumbs" aria-label={t.folder}>
      <a href={hrefOf(volume, "")}>{t.root}</a>
      {parts.map((part, i) => (
        <span key={i}>
          <span class="muted">/ </span>
          <a href={hrefOf(volume, parts.slice(0, i + 1).join("/"))} aria-current={i === parts.length - 1 ? "page" : undefined}><Safe text={part} max={60} /></a>
        </span>
      ))}
    </nav>
  );
}

interface FileTableProps {
  volume: string;
  folder: string;
  entries: readonly FileEntry[];
  attempt: (run: () => Promise<unknown>) => void;
  onOpen: (what: Open) => void;
  why: string | null;
}

function FileTable(props: FileTableProps) {
  const { volume, folder, entries } = props;
  return (
    <>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{t.fileName}</th>
            <th scope="col" class="end">{t.fileSize}</th>
            <th scope="col">{t.modified}</th>
            <th scope="col"><span class="off-screen">{shared.actions}</span></th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.name}>
              <td>
                <Icon name={entry.type === "directory" ? "folder" : "file"} />{" "}
                {entry.type === "directory" ? (
                  <a href={hrefOf(volume, joined(folder, entry.name))}><Safe text={entry.name} /></a>
                ) : (
                  <a download={entry.name} href={linkOf(getApiSandboxVolumesVolumeFilesContent.path, { volume }, { path: joined(folder, entry.name) })}><Safe text={entry.name} /></a>
                )}
                {entry.link !== null && <span class="meta"> → <Safe text={entry.link} mono /></span>}
              </td>
              <td class="end nowrap">{entry.type === "directory" ? "" : formatBytes(entry.size)}</td>
              <td class="nowrap"><Time at={entry.modified_at} /></td>
              <td class="end"><MenuButton button={{ kind: "quiet", isSmall: true }} label={shared.table.rowMenu(showHidden(entry.name, 60))} items={() => menuOf(entry, props)} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length >= SHOWN && <p class="muted">{t.cutOff}</p>}
    </>
  );
}

function menuOf(entry: FileEntry, { volume, folder, attempt, onOpen, why }: FileTableProps): MenuItem[] {
  const path = joined(folder, entry.name);
  const isFolder = entry.type === "directory";
  const download = isFolder ? linkOf(getApiSandboxVolumesVolumeFilesTar.path, { volume }, { path }) : linkOf(getApiSandboxVolumesVolumeFilesContent.path, { volume }, { path });
  const remove = async (): Promise<void> => {
    const yes = await ask({ title: t.deleteFileTitle(showHidden(entry.name, 60)), text: isFolder ? t.deleteFolderText : t.deleteFileText, yes: shared.delete, isDangerous: true });
    if (yes) attempt(() => call(deleteApiSandboxVolumesVolumeFiles, { path: { volume }, query: { path, recursive: isFolder || undefined } }));
  };
  return [
    { label: isFolder ? t.downloadTar : t.download, icon: "download", run: () => saveAs(download, isFolder ? `${entry.name}.tar` : entry.name) },
    { label: t.rename, icon: "edit", disabledBecause: why, run: () => onOpen({ kind: "rename", entry }) },
    { label: shared.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: why, run: () => void remove() },
  ];
}

/** The attribute makes the browser save the file and never show it within the console's origin. */
function saveAs(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
