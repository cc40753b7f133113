// SPDX-License-Identifier: Apache-2.0
// The ports that programs listen on inside.
import { addressOf, fetchRaw } from "../../../api/call";
import { ApiError } from "../../../api/errors";
import { sandboxHref } from "../../../objects/sandbox_actions";
import { Card } from "../../../parts/layout";
import { Loaded } from "../../../parts/notice";
import { Safe } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { t } from "../../../text/en/sandbox_overview";

interface ListeningPort {
  port: number;
  address: string;
  command: string | null;
}

/** null: this server cannot tell. */
async function readPorts(id: string, signal: AbortSignal): Promise<ListeningPort[] | null> {
  try {
    return ((await (await fetchRaw("GET", addressOf("/api/sandbox/instances/{id}/ports", { id }), { signal })).json()) as { items: ListeningPort[] }).items;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return null;
    throw thrown;
  }
}

/** Only of one that runs: to ask inside would wake a paused one. */
export function Ports({ sandbox }: { sandbox: Sandbox }) {
  return sandbox.state === "started" ? <RunningPorts sandbox={sandbox} /> : null;
}

function RunningPorts({ sandbox }: { sandbox: Sandbox }) {
  const ports = useResource(`ports ${sandbox.id}`, (signal) => readPorts(sandbox.id, signal), { kinds: ["port.*", "service.*"], sandbox: sandbox.id, onFocus: true });
  if (ports.data.value === null) return null;
  return (
    <Card title={t.ports}>
      <Loaded of={ports} lines={2}>
        {(items) => !items || items.length === 0 ? <p class="muted">{t.noPorts}</p> : (
          <ul class="events">
            {items.map((p) => (
              <li key={`${p.port} ${p.address}`}><a class="mono" href={sandboxHref(sandbox.id, "preview")}>{p.port}</a><span class="mono muted">{p.address}</span><span class="grow cut mono"><Safe text={p.command ?? ""} max={120} /></span></li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
