// SPDX-License-Identifier: Apache-2.0
// change_view.tsx: the old and the new text of a call that changes a file, as a diff.
import { addressOf, fetchRaw } from "../../api/call";
import { ApiError } from "../../api/errors";
import { getApiSandboxInstancesIdFilesContent, type Approval } from "../../api/generated";
import { Diff } from "../../parts/diff";
import { unifiedDiff } from "../../parts/line_diff";
import { Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { approvals as t } from "../../text/en";
import type { Change } from "./change";

const BYTES_MAX = 1024 * 1024;

interface Before {
  text: string;
  isNew?: boolean;
  /** Why the file is not shown. */
  problem?: string;
}

/** The file as it is now. Reading it neither wakes the sandbox nor counts as its use. */
async function readBefore(sandbox: string, path: string, signal: AbortSignal): Promise<Before> {
  try {
    const address = addressOf(getApiSandboxInstancesIdFilesContent.path, { id: sandbox }, { path, length: BYTES_MAX + 1, passive: true });
    const bytes = new Uint8Array(await (await fetchRaw("GET", address, { signal })).arrayBuffer());
    if (bytes.length > BYTES_MAX || bytes.includes(0)) return { text: "", problem: t.notText };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof ApiError && error.status === 404) return { text: "", isNew: true };
    return { text: "", problem: error instanceof ApiError ? error.message : t.notText };
  }
}

export function ChangeView({ of, approval }: { of: Change; approval: Approval }) {
  if (of.before !== null) return <Compared before={{ text: of.before }} of={of} />;
  // The file of a decided call may be the call's own result.
  if (approval.sandboxId === null || approval.state !== "pending") return <Compared before={{ text: "" }} of={of} />;
  return <WrittenFile of={of} sandbox={approval.sandboxId} id={approval.id} />;
}

function WrittenFile({ of, sandbox, id }: { of: Change; sandbox: string; id: string }) {
  const resource = useResource(`approval-file-${id}`, (signal) => readBefore(sandbox, of.path, signal), { onFocus: true });
  return (
    <Loaded of={resource} lines={6}>
      {(before) => <Compared before={before} of={of} />}
    </Loaded>
  );
}

function Compared({ before, of }: { before: Before; of: Change }) {
  const diff = unifiedDiff(before.text, of.after);
  return (
    <>
      {before.problem && <Note>{t.notCompared(showHidden(before.problem, 500))}</Note>}
      {before.isNew && <Note>{t.newFile}</Note>}
      {diff ? <Diff text={diff} label={t.change(showHidden(of.path))} /> : <p class="muted">{t.noChange}</p>}
    </>
  );
}
