// SPDX-License-Identifier: Apache-2.0
// The files of a sandbox: a folder, a file, or what has changed, as the address says.
import { call } from "../../../api/call";
import { ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdFilesStat, type FileEntry } from "../../../api/generated";
import { Segmented } from "../../../parts/field";
import { Empty, Loaded, Note } from "../../../parts/notice";
import { WakeGate } from "../../../objects/wake_gate";
import { queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import { canTake } from "../../../store/sandboxes";
import { sandboxFiles as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { Changes } from "./changes";
import { FileView } from "./file_view";
import { FolderView } from "./folder_view";
import { PathBar } from "./path_bar";
import { normalPath } from "./paths";
import "./files.css";

const HOME = "/home/user";

export default function FilesTab({ sandbox, rest }: TabProps) {
  const isChanges = queryOf("view") === "changes";
  const chooser = (
    <Segmented label={t.view} value={isChanges ? "changes" : "browse"} onChange={(view) => setQuery({ view: view === "changes" ? view : undefined, path: undefined, base: undefined }, false)}
      choices={[{ value: "browse", label: t.browse }, { value: "changes", label: t.changes }]} />
  );
  if (isChanges) return <div class="files-tab"><Changes sandbox={sandbox} chooser={chooser} /></div>;
  return (
    <WakeGate sandbox={sandbox} title={t.pausedTitle} text={t.pausedText} yes={t.wake} icon="folder">
      {() => <Browse key={`${sandbox.id} ${rest} ${sandbox.state === "stopped"}`} sandbox={sandbox} rest={rest} chooser={chooser} />}
    </WakeGate>
  );
}

type Place = { path: string; entry: FileEntry | null };

/** What is at the path: a folder when the server cannot say, as of a sandbox that does not run. */
async function readPlace(id: string, rest: string, canAsk: boolean, signal: AbortSignal): Promise<Place> {
  const path = rest === "" ? HOME : normalPath(rest);
  try {
    return { path, entry: await call(getApiSandboxInstancesIdFilesStat, { path: { id }, query: { path, follow: true }, signal }) };
  } catch (thrown) {
    if (rest === "" && thrown instanceof ApiError && thrown.status === 404) return { path: "/", entry: null };
    if (!canAsk && thrown instanceof ApiError && thrown.status !== 404) return { path: rest === "" ? "/" : path, entry: null };
    throw thrown;
  }
}

function Browse({ sandbox, rest, chooser }: TabProps & { chooser: preact.ComponentChildren }) {
  const canWrite = canTake(sandbox, "exec");
  const place = useResource(`place ${sandbox.id} ${rest}`, (signal) => readPlace(sandbox.id, rest, canWrite, signal));
  const path = place.data.value?.path ?? (rest === "" ? HOME : normalPath(rest));
  return (
    <div class="files-tab">
      <div class="row">
        <PathBar sandbox={sandbox.id} path={path} />
        {chooser}
      </div>
      {!canWrite && <Note>{t.stoppedNote}</Note>}
      <Loaded of={place}>
        {({ entry }) => {
          if (entry === null || entry.type === "directory") return <FolderView sandbox={sandbox} path={path} canWrite={canWrite} />;
          if (entry.type === "file") return <FileView sandbox={sandbox} path={path} entry={entry} canWrite={canWrite} />;
          return <Empty icon="file" title={t.other} />;
        }}
      </Loaded>
    </div>
  );
}
