// SPDX-License-Identifier: Apache-2.0
// One command with its output, which comes in while the command runs.
import { useEffect, useMemo, useState } from "preact/hooks";
import { addressOf } from "../../../api/call";
import { asApiError, isAbort, type ApiError } from "../../../api/errors";
import { Backoff, waitOrWake } from "../../../api/backoff";
import { getApiSandboxInstancesIdProcessesProcessStream, type Process } from "../../../api/generated";
import { streamEvents } from "../../../api/stream";
import { Button } from "../../../parts/button";
import { ask, Dialog } from "../../../parts/dialog";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Facts } from "../../../parts/layout";
import { Log } from "../../../parts/log";
import { LogLines } from "../../../parts/log_lines";
import { MenuButton } from "../../../parts/menu";
import { ErrorNote } from "../../../parts/notice";
import { CodeBlock } from "../../../parts/copy";
import { Safe, Time } from "../../../parts/text";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { postApiSandboxInstancesIdProcessesProcessSignal } from "../../../api/generated";
import { common as shared, sandboxProcesses as t } from "../../../text/en";
import { commandOf, EndChip, sendSignal, signalMenu } from "./command";

interface Piece {
  event?: string;
  data?: string;
  encoding?: string;
}

function textOfPiece(piece: Piece): string {
  const data = piece.data ?? "";
  if (piece.encoding !== "base64") return data;
  return new TextDecoder().decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
}

/** The output from its beginning, and what comes. After a break it goes on where it was. */
function useOutput(sandbox: string, process: number, onEnded: () => void): { lines: LogLines; error: ApiError | null } {
  const lines = useMemo(() => new LogLines(), []);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      const backoff = new Backoff();
      for (let since = ""; !stop.signal.aborted; ) {
        const address = addressOf(getApiSandboxInstancesIdProcessesProcessStream.path, { id: sandbox, process: String(process) }, { follow: true, stream: "sse", since });
        try {
          for await (const message of streamEvents("GET", address, { signal: stop.signal })) {
            backoff.reset();
            setError(null);
            since = message.id || since;
            if (message.event === "stdout" || message.event === "stderr") lines.append(textOfPiece(JSON.parse(message.data) as Piece));
            else if (message.event === "exit") return onEnded();
          }
        } catch (thrown) {
          if (isAbort(thrown) || stop.signal.aborted) return;
          const failure = asApiError(thrown);
          setError(failure);
          if (!failure.isTransient) return;
        }
        await waitOrWake(backoff.nextMs(), stop.signal);
      }
    };
    void follow();
    return () => stop.abort();
  }, [sandbox, process]);
  return { lines, error };
}

interface SheetProps {
  sandbox: Sandbox;
  process: Process;
  onAct: (work: Promise<unknown>) => void;
  onEnded: () => void;
  onClose: () => void;
}

export function ProcessSheet({ sandbox, process: p, onAct, onEnded, onClose }: SheetProps) {
  const [wasRunning] = useState(p.state === "running");
  const { lines, error } = useOutput(sandbox.id, p.process, () => wasRunning && onEnded());
  const scope = missingScope(postApiSandboxInstancesIdProcessesProcessSignal);
  const stop = async (): Promise<void> => {
    if (await ask({ title: t.stopTitle, text: t.stopText, yes: t.stop, isDangerous: true })) onAct(sendSignal(sandbox, p.process, "SIGTERM"));
  };
  return (
    <Dialog title={t.process(p.process)} kind="sheet" onClose={onClose} footer={p.state === "running" && (
      <>
        <Button kind="danger" icon="stop" disabledBecause={scope && shared.missingScope(scope)} onClick={() => void stop()}>{t.stop}</Button>
        <MenuButton label={t.signal} button={{ icon: "more" }} items={() => signalMenu(sandbox, p, onAct)} />
      </>
    )}>
      <div class="process-sheet">
        <CodeBlock text={commandOf(p)} label={t.command} />
        <Facts facts={[
          [t.state, <EndChip process={p} />],
          [t.user, <Safe text={p.user} />],
          [t.folder, <Safe text={p.cwd} mono />],
          [t.pid, p.pid],
          [t.started, <Time at={p.started_at} />],
          [t.duration, formatDuration(p.duration_ms)],
          [t.output, formatBytes(p.stdout_bytes + p.stderr_bytes)],
        ]} />
        {error && <ErrorNote error={error} />}
        <Log lines={lines} label={t.outputOf(p.process)} empty={t.noOutput} linesMax={30} />
      </div>
    </Dialog>
  );
}
