// SPDX-License-Identifier: Apache-2.0
// What a sandbox serves: its ports, links to them, both switches, and a live view where previews have an origin of their own.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { getApiSandboxInstancesIdPreview, type ListeningPort, type ListeningPortList, type Preview } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { TextField } from "../../../parts/field";
import { Card } from "../../../parts/layout";
import { Empty, Loaded, Note } from "../../../parts/notice";
import { queryOf, setQuery } from "../../../router";
import { usePorts } from "../../../store/ports";
import { useResource } from "../../../store/resource";
import { canTake, type Sandbox } from "../../../store/sandboxes";
import { sandboxPreview as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { LiveView } from "./live_view";
import { PortRow } from "./port_row";
import { Switches } from "./switches";
import "./preview.css";

export default function PreviewTab({ sandbox }: TabProps) {
  const settings = useResource(`preview ${sandbox.id}`, (signal) => call(getApiSandboxInstancesIdPreview, { path: { id: sandbox.id }, signal }), { kinds: ["preview.*", "sandbox.*"], sandbox: sandbox.id });
  const isRunning = canTake(sandbox, "exec");
  return (
    <div class="stack wide preview">
      <Loaded of={settings} lines={4}>
        {(preview) => (
          <>
            {isRunning ? <Running sandbox={sandbox} preview={preview} /> : <Empty icon="globe" title={t.notRunning}>{t.notRunningText}</Empty>}
            <Switches sandbox={sandbox} preview={preview} onChange={settings.reload} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Running({ sandbox, preview }: { sandbox: Sandbox; preview: Preview }) {
  const ports = usePorts(sandbox.id);
  const shown = Number(queryOf("port")) || null;
  return (
    <>
      {!preview.reachable && <Note>{t.noNetwork}</Note>}
      {!preview.enabled && <Note>{t.off}</Note>}
      <Card title={t.ports} actions={<Button isSmall icon="reload" label={t.reload} isBusy={ports.isLoading.value} onClick={ports.reload} />}>
        <Loaded of={ports} lines={3}>
          {(found) => <PortList sandbox={sandbox} preview={preview} found={found} shown={shown} />}
        </Loaded>
        <OtherPort allowed={preview.ports} />
      </Card>
      {shown && preview.enabled && <LiveView key={shown} sandbox={sandbox} port={shown} hasOrigin={preview.domain !== null} />}
    </>
  );
}

function PortList({ sandbox, preview, found, shown }: { sandbox: Sandbox; preview: Preview; found: ListeningPortList; shown: number | null }) {
  // A port given by hand stands in the list, too.
  const isListed = found.items.some((p) => p.port === shown);
  const extra: ListeningPort[] = shown && !isListed ? [{ port: shown, address: "", pid: 0, process: 0, command: "", preview: true }] : [];
  const items = [...found.items, ...extra];
  return (
    <>
      {found.truncated && <p class="muted">{t.truncated}</p>}
      {items.length === 0 && <Empty icon="globe" title={t.none} command={t.noneCommand}>{t.noneText}</Empty>}
      {items.length > 0 && (
        <ul class="ports" aria-label={t.ports}>
          {items.map((port) => (
            <PortRow key={`${port.port} ${port.address}`} sandbox={sandbox} preview={preview} port={port} isShown={shown === port.port} />
          ))}
        </ul>
      )}
    </>
  );
}

function OtherPort({ allowed }: { allowed: string }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <form
      class="other-port"
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        const port = Number(text);
        if (!Number.isInteger(port) || port < 1 || port > 65535) return setProblem(t.badPort);
        setProblem(null);
        setQuery({ port: String(port) }, false);
      }}
    >
      <TextField label={t.otherPort} type="number" min={1} max={65535} value={text} error={problem} help={t.portHelp(allowed)} onChange={setText} placeholder="8000" />
      <Button type="submit">{t.add}</Button>
    </form>
  );
}
