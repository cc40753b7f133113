// SPDX-License-Identifier: Apache-2.0
// What a sandbox is: facts, life, labels and times that can be changed, volumes, ports, last events.
import { useState } from "preact/hooks";
import { patchApiSandboxInstancesId } from "../../../api/generated";
import { LabelDialog } from "../../../objects/label_dialog";
import { readEvents } from "../../../objects/sandbox_events";
import { Button } from "../../../parts/button";
import { LabelChips } from "../../../parts/chip";
import { formatDuration } from "../../../parts/format";
import { Card, Facts } from "../../../parts/layout";
import { Loaded } from "../../../parts/notice";
import { Safe, Time } from "../../../parts/text";
import { at, href } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { common as shared, sandboxOverview as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { FactsCard } from "./facts_card";
import { Life } from "./life";
import { Ports } from "./ports";
import { SettingsDialog, TIMES } from "./settings_dialog";
import "./overview.css";

const EVENTS_SHOWN = 8;

export default function OverviewTab({ sandbox }: TabProps) {
  const events = useResource(`events ${sandbox.id}`, (signal) => readEvents(sandbox.id, signal), { kinds: ["*"], sandbox: sandbox.id });
  const [dialog, setDialog] = useState<"labels" | "settings" | null>(null);
  const scope = missingScope(patchApiSandboxInstancesId);
  const cannot = sandbox.state === "deleted" ? "" : scope && shared.missingScope(scope);
  const edit = (which: "labels" | "settings") => (
    <Button isSmall kind="quiet" icon="edit" isDisabled={sandbox.state === "deleted"} disabledBecause={cannot || null} onClick={() => setDialog(which)}>{t.edit}</Button>
  );
  return (
    <div class="overview">
      <Card title={t.life}>
        <Loaded of={events} lines={2}>{(list) => <Life sandbox={sandbox} events={list} />}</Loaded>
      </Card>
      <div class="columns">
        <div class="stack">
          <FactsCard sandbox={sandbox} />
          <Volumes sandbox={sandbox} />
        </div>
        <div class="stack">
          <Card title={t.labels} actions={edit("labels")}>
            {Object.keys((sandbox.labels as object | null) ?? {}).length ? <LabelChips labels={sandbox.labels as Record<string, string>} shown={64} /> : <p class="muted">{t.noLabels}</p>}
          </Card>
          <Card title={t.times} actions={edit("settings")}>
            <Facts facts={TIMES.map((name) => [t.timesOf[name] ?? name, sandbox[name] > 0 ? formatDuration(sandbox[name]) : <span class="muted">{t.never}</span>] as const).filter(([label]) => !(sandbox.persistent && label === t.timesOf["idle_reap_ms"]))} />
            {sandbox.persistent && <p class="muted">{t.persistentNote}</p>}
          </Card>
          <Ports sandbox={sandbox} />
          <Card title={t.events}>
            <Loaded of={events} lines={4}>{(list) => list.length === 0 ? <p class="muted">{t.noEvents}</p> : (
              <ol class="events">
                {list.slice(-EVENTS_SHOWN).reverse().map((e) => (
                  <li key={e.sequence}><span class="event-kind mono">{e.kind}</span><span class="grow"><Safe text={e.text} /></span><span class="muted nowrap"><Time at={e.at} /></span></li>
                ))}
              </ol>
            )}</Loaded>
          </Card>
        </div>
      </div>
      {dialog === "labels" && <LabelDialog list={[sandbox]} onClose={() => setDialog(null)} />}
      {dialog === "settings" && <SettingsDialog sandbox={sandbox} onClose={() => setDialog(null)} />}
    </div>
  );
}

function Volumes({ sandbox }: { sandbox: Sandbox }) {
  const volumes = sandbox.volumes ?? [];
  return (
    <Card title={t.volumes}>
      {volumes.length === 0 ? <p class="muted">{t.noVolumes}</p> : (
        <ul class="events">
          {volumes.map((v) => (
            <li key={v.path}><a href={href(at`volumes/${v.volume}`)}><Safe text={v.volume} max={60} /></a><span class="grow mono"><Safe text={v.path} /></span>{v.read_only && <span class="muted">{t.readOnly}</span>}</li>
          ))}
        </ul>
      )}
    </Card>
  );
}
