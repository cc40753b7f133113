// SPDX-License-Identifier: Apache-2.0
// detail.tsx: one call: arguments, output, who made it, artifacts, and the same as curl.
import { linkOf } from "../../../api/call";
import { getApiSandboxArtifactsIdContent } from "../../../api/generated";
import { curlOf } from "../../../objects/sandbox_actions";
import { Button } from "../../../parts/button";
import { CodeBlock, copyText } from "../../../parts/copy";
import { Dialog } from "../../../parts/dialog";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Facts } from "../../../parts/layout";
import { Note } from "../../../parts/notice";
import { showHidden, showHiddenLines } from "../../../parts/safe";
import { Safe, Time } from "../../../parts/text";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxActivity as t } from "../../../text/en";
import { Outcome } from "./outcome";
import type { ActivityRow } from "./rows";

/** The request that does the same again; null: the row does not hold enough of it. */
export function requestOf(row: ActivityRow, sandbox: string): { path: string; body: unknown } | null {
  const base = `/api/sandbox/instances/${sandbox}`;
  if (row.kind === "command") return { path: `${base}/exec`, body: { command: row.arguments } };
  if (row.kind === "code") return { path: `${base}/code`, body: { language: row.operation, code: row.arguments } };
  return null;
}

export function Detail({ row, sandbox, onClose }: { row: ActivityRow; sandbox: string; onClose: () => void }) {
  const request = requestOf(row, sandbox);
  const copy = async (): Promise<void> => {
    if (request && (await copyText(curlOf("POST", request.path, request.body)))) showToast({ kind: "done", text: t.copied });
  };
  return (
    <Dialog
      title={showHidden(`${row.kind} · ${row.operation}`, 80)}
      kind="sheet"
      onClose={onClose}
      footer={
        <>
          <Button icon="copy" disabledBecause={request ? null : t.noCurl} onClick={() => void copy()}>{t.curl}</Button>
          <Button onClick={onClose}>{shared.close}</Button>
        </>
      }
    >
      <Facts
        facts={[
          [t.result, <Outcome row={row} />],
          [t.at, <Time at={row.at} />],
          [t.duration, formatDuration(row.duration_ms)],
          [t.output, formatBytes(row.output_bytes)],
          row.user !== null && [t.user, <Safe text={row.user} max={80} />],
          row.key !== null && [t.key, <Safe text={row.key} max={80} mono />],
          row.conversation !== null && [t.conversation, <Safe text={row.conversation} max={80} mono />],
        ]}
      />
      {row.error && <Note tone="bad">{showHiddenLines(row.error)}</Note>}
      <section class="stack">
        <h3>{t.arguments}</h3>
        <CodeBlock label={t.arguments} text={showHiddenLines(row.arguments)} />
      </section>
      <Output row={row} />
      {row.artifacts.length > 0 && (
        <section class="stack">
          <h3>{t.artifacts}</h3>
          <ul>
            {row.artifacts.map((artifact) => (
              <li key={artifact.id}>
                <a download href={linkOf(getApiSandboxArtifactsIdContent.path, { id: artifact.id })}><Safe text={artifact.path} mono /></a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  );
}

function Output({ row }: { row: ActivityRow }) {
  if (row.encoding) return <p class="muted">{t.binary(formatBytes(row.output_bytes))}</p>;
  if (!row.head && !row.tail) return <p class="muted">{t.noOutput}</p>;
  return (
    <>
      <section class="stack">
        <h3>{row.tail ? t.headCut : t.head}</h3>
        <CodeBlock label={t.head} text={showHiddenLines(row.head)} />
      </section>
      {row.tail && (
        <section class="stack">
          <h3>{t.tail}</h3>
          <CodeBlock label={t.tail} text={showHiddenLines(row.tail)} />
        </section>
      )}
    </>
  );
}
