// SPDX-License-Identifier: Apache-2.0
// The recordings of a sandbox's windows, and the replay of the one that the address names.
import { call, linkOf } from "../../../api/call";
import { ApiError } from "../../../api/errors";
import { deleteApiSandboxRecordingsRecording, getApiSandboxRecordings, getApiSandboxRecordingsRecording, type Recording } from "../../../api/generated";
import { Button, ButtonLink } from "../../../parts/button";
import { ask } from "../../../parts/dialog";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Empty, Loaded } from "../../../parts/notice";
import { PlainTable } from "../../../parts/plain_table";
import { showHidden } from "../../../parts/safe";
import { Safe, Time } from "../../../parts/text";
import { queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { toastError } from "../../../store/toasts";
import { sandboxTerminal as t } from "../../../text/en";
import { parseCast } from "./cast";
import { Player } from "./player";

export function Recordings({ sandbox }: { sandbox: Sandbox }) {
  const chosen = queryOf("recording");
  return (
    <div class="terminal-tab">
      <div class="row">
        {chosen ? (
          <Button icon="left" onClick={() => setQuery({ recording: undefined }, false)}>{t.back}</Button>
        ) : (
          <Button icon="left" onClick={() => setQuery({ view: undefined }, false)}>{t.windows}</Button>
        )}
        <h2>{t.recordings}</h2>
      </div>
      {chosen ? <Replay key={chosen} id={chosen} /> : <List sandbox={sandbox} />}
    </div>
  );
}

/** A command may have several lines. */
const nameOf = (r: Recording): string => r.window?.split("\n", 1)[0] || t.process(r.process);

function List({ sandbox }: { sandbox: Sandbox }) {
  const recordings = useResource(
    `recordings ${sandbox.id}`,
    async (signal) => (await call(getApiSandboxRecordings, { query: { sandbox: sandbox.id }, signal })).items.sort((a, b) => ((a.started_at ?? "") < (b.started_at ?? "") ? 1 : -1)),
    { kinds: ["recording.*", "window.*"], sandbox: sandbox.id, onFocus: true },
  );
  const remove = async (r: Recording): Promise<void> => {
    if (!(await ask({ title: t.removeTitle, text: t.removeText, yes: t.remove, isDangerous: true }))) return;
    await call(deleteApiSandboxRecordingsRecording, { path: { recording: r.id } }).catch(toastError);
    recordings.reload();
  };
  return (
    <Loaded of={recordings}>
      {(items) =>
        items.length === 0 ? (
          <Empty icon="clock" title={t.recordingsNone} command={`atoll terminal open --record ${sandbox.name} main`}>{t.recordingsNoneText}</Empty>
        ) : (
          <PlainTable label={t.recordings} heads={[t.recordedAt, t.recorded, [t.length, "end"], [t.size, "end"], [t.replay, "unseen"]]}>
            {items.map((r) => ({ r, name: showHidden(nameOf(r), 40) })).map(({ r, name }) => (
              <tr key={r.id}>
                <td><Time at={r.started_at} /></td>
                <td><Safe text={nameOf(r)} max={60} /></td>
                <td class="end">{formatDuration(r.duration_ms)}</td>
                <td class="end">{formatBytes(r.size_bytes)}</td>
                <td class="end">
                  <span class="row-end">
                    <Button isSmall icon="play" onClick={() => setQuery({ recording: r.id }, false)}>{t.replay}</Button>
                    <ButtonLink isSmall kind="quiet" icon="download" label={t.downloadOf(name)} href={linkOf(getApiSandboxRecordingsRecording.path, { recording: r.id })} download={`${r.id}.cast`} />
                    <Button isSmall kind="quiet" icon="trash" label={t.removeOf(name)} onClick={() => void remove(r)} />
                  </span>
                </td>
              </tr>
            ))}
          </PlainTable>
        )
      }
    </Loaded>
  );
}

function Replay({ id }: { id: string }) {
  const cast = useResource(`recording ${id}`, async (signal) => {
    const parsed = parseCast(String(await call(getApiSandboxRecordingsRecording, { path: { recording: id }, signal })));
    if (!parsed) throw new ApiError(422, "error", t.badRecording);
    return parsed;
  });
  return <Loaded of={cast}>{(data) => <Player cast={data} />}</Loaded>;
}
