// SPDX-License-Identifier: Apache-2.0
// The ports that programs listen on inside.
import { sandboxHref } from "../../../objects/sandbox_actions";
import { Card } from "../../../parts/layout";
import { Loaded } from "../../../parts/notice";
import { Safe } from "../../../parts/text";
import { usePorts } from "../../../store/ports";
import type { Sandbox } from "../../../store/sandboxes";
import { sandboxOverview as t } from "../../../text/en";

/** Only of one that runs: to ask inside would wake a paused one. */
export function Ports({ sandbox }: { sandbox: Sandbox }) {
  return sandbox.state === "started" ? <RunningPorts sandbox={sandbox} /> : null;
}

function RunningPorts({ sandbox }: { sandbox: Sandbox }) {
  const ports = usePorts(sandbox.id);
  return (
    <Card title={t.ports}>
      <Loaded of={ports} lines={2}>
        {({ items }) => items.length === 0 ? <p class="muted">{t.noPorts}</p> : (
          <ul class="events">
            {items.map((p) => (
              <li key={`${p.port} ${p.address}`}><a class="mono" href={sandboxHref(sandbox.id, "preview")}>{p.port}</a><span class="mono muted">{p.address}</span><span class="grow cut mono"><Safe text={p.command} max={120} /></span></li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
