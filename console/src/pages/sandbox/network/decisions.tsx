// SPDX-License-Identifier: Apache-2.0
// decisions.tsx: what the rules decided lately, and a click that allows what they refused.
import { call } from "../../../api/call";
import { getApiSandboxInstancesIdEgressLog, type NetworkDecision } from "../../../api/generated";
import { AllowHost, isAllowable } from "../../../objects/allow_host";
import { Button } from "../../../parts/button";
import { Card } from "../../../parts/layout";
import { Loaded } from "../../../parts/notice";
import { PlainTable } from "../../../parts/plain_table";
import { Safe, Time } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { common as shared, sandboxNetwork as t } from "../../../text/en";

const SHOWN = 50;

const targetOf = (d: NetworkDecision): string | null => d.host ?? d.address;

export function Decisions({ sandbox }: { sandbox: Sandbox }) {
  const read = async (signal: AbortSignal): Promise<NetworkDecision[]> =>
    (await call(getApiSandboxInstancesIdEgressLog, { path: { id: sandbox.id }, query: { last: SHOWN }, signal })).items.reverse();
  const resource = useResource(`egress-log-${sandbox.id}`, read, { kinds: ["egress.*"], sandbox: sandbox.id, onFocus: true });
  return (
    <Card title={t.decisions} actions={<Button onClick={resource.reload}>{t.readAgain}</Button>}>
      <p class="muted">{t.decisionsText}</p>
      <Loaded of={resource} lines={3}>{(items) => <DecisionTable sandbox={sandbox} items={items} />}</Loaded>
    </Card>
  );
}

function DecisionTable({ sandbox, items }: { sandbox: Sandbox; items: NetworkDecision[] }) {
  const allowed = new Set(sandbox.egress?.allow ?? []);
  if (items.length === 0) return <p class="muted">{t.noDecisions}</p>;
  return (
    <PlainTable heads={[t.decidedAt, t.decision, t.target, t.why, t.credential, t.times, [shared.actions, "unseen"]]}>
      {items.map((d) => {
        const target = targetOf(d);
        return (
          <tr key={d.sequence}>
            <td><Time at={d.at} /></td>
            <td>{t.verdicts[d.decision] ?? d.decision}</td>
            <td><Safe text={target ? (d.port ? `${target}:${d.port}` : target) : null} mono max={60} /></td>
            <td><Safe text={d.rule ? `${d.code} (${d.rule})` : d.code} max={60} /></td>
            <td><Safe text={d.credential} mono max={63} /></td>
            <td class="number">{d.count}</td>
            <td>{target && d.decision !== "allowed" && isAllowable(d.code) && !allowed.has(target) && <AllowHost sandbox={sandbox.id} host={target} />}</td>
          </tr>
        );
      })}
    </PlainTable>
  );
}
