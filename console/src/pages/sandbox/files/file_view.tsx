// SPDX-License-Identifier: Apache-2.0
// One file: text in an editor, pictures, PDF, tables, or the first bytes of anything else.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdFilesStat, type FileEntry } from "../../../api/generated";
import { Button, ButtonLink } from "../../../parts/button";
import { Segmented } from "../../../parts/field";
import { formatBytes } from "../../../parts/format";
import { Loaded, Note } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Time } from "../../../parts/text";
import { go, queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { sandboxFiles as t } from "../../../text/en";
import { HEX_MAX, hexOf, parseCsv, readContent, TEXT_MAX, type Shown } from "./content";
import { contentLink, deletePaths } from "./file_actions";
import { extensionOf, fileHref, nameOf, parentOf } from "./paths";
import { TextEditor } from "./text_editor";
import { useWatch } from "./watch";

export interface FileProps {
  sandbox: Sandbox;
  path: string;
  entry: FileEntry;
  canWrite: boolean;
}
const ROWS_MAX = 1000;

export function FileView(props: FileProps) {
  const { sandbox, path, canWrite } = props;
  /** The file as it is shown, and as it was last seen on disk; null: it is gone. */
  const [entry, setEntry] = useState(props.entry);
  const [onDisk, setOnDisk] = useState<FileEntry | null>(props.entry);
  const content = useResource(`content ${sandbox.id} ${path} ${entry.modified_at} ${entry.size}`, (signal) => readContent(sandbox.id, path, entry, signal));
  const look = async (): Promise<void> => {
    try {
      setOnDisk(await call(getApiSandboxInstancesIdFilesStat, { path: { id: sandbox.id }, query: { path, follow: true } }));
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 404) setOnDisk(null);
    }
  };
  useWatch(sandbox.id, canWrite ? parentOf(path) : null, () => void look());
  const remove = async (): Promise<void> => {
    if (await deletePaths(sandbox.id, parentOf(path), [nameOf(path)])) go(fileHref(sandbox.id, parentOf(path)));
  };
  const isTable = ["csv", "tsv"].includes(extensionOf(path)) && queryOf("as") !== "text";
  return (
    <section class="file" aria-label={showHidden(nameOf(path), 60)}>
      <div class="row tight">
        <span class="muted">{formatBytes(entry.size)}</span>
        <span class="muted">·</span>
        <span class="muted"><Time at={entry.modified_at} /></span>
        <span class="mono muted">{entry.mode}</span>
        <span class="grow" />
        {["csv", "tsv"].includes(extensionOf(path)) && (
          <Segmented label={t.view} value={isTable ? "table" : "text"} onChange={(as) => setQuery({ as: as === "text" ? as : undefined }, false)} choices={[{ value: "table", label: t.asTable }, { value: "text", label: t.asText }]} />
        )}
        <ButtonLink icon="download" href={contentLink(sandbox.id, path)} download={nameOf(path)}>{t.download}</ButtonLink>
        <Button kind="quiet" icon="trash" label={t.delete} isDisabled={!canWrite} onClick={() => void remove()} />
      </div>
      <Loaded of={content} lines={8}>
        {(shown) => shown.kind === "text" && !isTable
          ? <TextEditor {...props} entry={entry} onDisk={onDisk} text={shown.text} isCut={shown.isCut} onEntry={(next) => { setEntry(next); setOnDisk(next); }} onSaved={setOnDisk} />
          : <>
              {onDisk && onDisk.modified_at !== entry.modified_at && <Note tone="warn" action={<Button isSmall icon="reload" onClick={() => setEntry(onDisk)}>{t.reload}</Button>}>{t.changedNote}</Note>}
              <Fixed shown={shown} path={path} size={entry.size} />
            </>}
      </Loaded>
    </section>
  );
}

/** What is looked at only. */
function Fixed({ shown, path, size }: { shown: Shown; path: string; size: number }) {
  switch (shown.kind) {
    case "text":
      return <CsvTable text={shown.text} isCut={shown.isCut} path={path} size={size} />;
    case "bytes":
      return (
        <>
          <Note>{t.binary(formatBytes(Math.min(size, HEX_MAX)), formatBytes(size))}</Note>
          <pre class="hex" tabIndex={0} role="region" aria-label={t.bytes}>{hexOf(shown.bytes)}</pre>
        </>
      );
    default:
      return <BlobView kind={shown.kind} blob={shown.blob} name={showHidden(nameOf(path), 60)} />;
  }
}

function BlobView({ kind, blob, name }: { kind: "image" | "pdf"; blob: Blob; name: string }) {
  const address = useMemo(() => URL.createObjectURL(blob), [blob]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  if (kind === "image") return <div class="picture"><img src={address} alt={t.image(name)} /></div>;
  return (
    <>
      <div class="row"><ButtonLink icon="open" href={address} isNewTab>{t.pdfTab}</ButtonLink></div>
      <iframe class="pdf" src={address} title={name} />
    </>
  );
}

function CsvTable({ text, isCut, path, size }: { text: string; isCut: boolean; path: string; size: number }) {
  const { rows, left } = useMemo(() => parseCsv(text, extensionOf(path) === "tsv" ? "\t" : ",", ROWS_MAX), [text]);
  const [head = [], ...body] = rows;
  return (
    <>
      {isCut && <Note tone="warn">{t.tooLarge(formatBytes(TEXT_MAX), formatBytes(size))}</Note>}
      <div class="csv" tabIndex={0} role="region" aria-label={t.asTable}>
        <table class="plain-table">
          <thead><tr>{head.map((cell, i) => <th key={i} scope="col">{showHidden(cell)}</th>)}</tr></thead>
          <tbody>{body.map((row, i) => <tr key={i}>{head.map((_, j) => <td key={j}>{showHidden(row[j] ?? "")}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {left > 0 && <p class="muted">{t.rowsMore(left)}</p>}
    </>
  );
}
