// SPDX-License-Identifier: Apache-2.0
// change_list.tsx: what differs between a base and a sandbox or a snapshot: files, and the lines of text files.
import { useState } from "preact/hooks";
import { call } from "../api/call";
import { getApiSandboxInstancesIdDiff, getApiSandboxSnapshotsIdDiff, type Change, type ChangeList as Changes } from "../api/generated";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Diff } from "../parts/diff";
import { formatBytes } from "../parts/format";
import { Loaded } from "../parts/notice";
import { showHidden } from "../parts/safe";
import { useResource } from "../store/resource";
import { sandboxSnapshots as t } from "../text/en";

const PAGE = 50;
const TONES: Record<string, "good" | "bad" | "moving"> = { added: "good", deleted: "bad" };

/** of: what is compared; base: a snapshot's id or "template". Compares once shown: it reads files. */
export function ChangeList({ of, id, base }: { of: "sandbox" | "snapshot"; id: string; base?: string }) {
  const [page, setPage] = useState<string | undefined>(undefined);
  const operation = of === "sandbox" ? getApiSandboxInstancesIdDiff : getApiSandboxSnapshotsIdDiff;
  const changes = useResource<Changes>(`diff ${of} ${id} ${base ?? ""} ${page ?? ""}`, (signal) => call(operation, { path: { id }, query: { base, page, limit: PAGE }, signal }));
  return (
    <Loaded of={changes} lines={5}>
      {(data) => (
        <div class="stack">
          <p class="muted">{data.items.length === 0 && !page ? t.noChanges : t.changed(data.items.length, data.next_page !== null)}</p>
          {data.items.map((change) => (
            <OneChange key={change.path} change={change} />
          ))}
          {(data.next_page || page) && (
            <div class="row">
              {page && <Button onClick={() => setPage(undefined)}>{t.firstPage}</Button>}
              {data.next_page && <Button onClick={() => setPage(data.next_page ?? undefined)}>{t.nextPage}</Button>}
            </div>
          )}
        </div>
      )}
    </Loaded>
  );
}

function OneChange({ change }: { change: Change }) {
  const path = showHidden(change.path, 300);
  const head = (
    <>
      <Chip tone={TONES[change.kind] ?? "moving"}>{t.kinds[change.kind] ?? showHidden(change.kind, 30)}</Chip> <bdi class="mono">{path}</bdi>{" "}
      <span class="meta">{change.lines_added !== undefined ? `+${change.lines_added} −${change.lines_deleted ?? 0}` : change.type === "file" ? formatBytes(change.size) : showHidden(change.type ?? change.type_before ?? "", 30)}</span>
    </>
  );
  if (!change.diff || change.diff_encoding) return <div class="change">{head}</div>;
  return (
    <details class="change">
      <summary>{head}</summary>
      <Diff text={change.diff} label={path} />
    </details>
  );
}
