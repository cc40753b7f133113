// SPDX-License-Identifier: Apache-2.0
// decisions.tsx: what the rules decided lately, and a click that allows what they refused.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { getApiSandboxInstancesIdEgressLog, type NetworkDecision } from "../../../api/generated";
import { AllowHost, isAllowable } from "../../../objects/allow_host";
import { DecisionWhy, targetText } from "../../../objects/decision_why";
import { Button } from "../../../parts/button";
import { Segmented } from "../../../parts/field";
import { Card } from "../../../parts/layout";
import { Loaded } from "../../../parts/notice";
import { PlainTable } from "../../../parts/plain_table";
import { Safe, Time } from "../../../parts/text";
import { queryOf, setQuery } from "../../../router";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { common as shared, sandboxNetwork as t } from "../../../text/en";

const PAGE = 50;
/** The server gives 1,000 at most. */
const MOST = 1000;

const targetOf = (d: NetworkDecision): string | null => d.host ?? d.address;

export function Decisions({ sandbox }: { sandbox: Sandbox }) {
  const [shown, setShown] = useState(PAGE);
  const kind = queryOf("decisions") === "denied" ? "denied" : "all";
  const decision = kind === "denied" ? kind : undefined;
  const read = async (signal: AbortSignal): Promise<NetworkDecision[]> =>
    (await call(getApiSandboxInstancesIdEgressLog, { path: { id: sandbox.id }, query: { last: shown, decision }, signal })).items.reverse();
  const resource = useResource(`egress-log-${sandbox.id}-${kind}-${shown}`, read, { kinds: ["egress.*"], sandbox: sandbox.id, onFocus: true });
  return (
    <Card title={t.decisions} actions={<Button onClick={resource.reload}>{t.readAgain}</Button>}>
      <p class="muted">{t.decisionsText}</p>
      <Segmented label={t.shown} value={kind} onChange={(value) => setQuery({ decisions: value === "all" ? undefined : value }, false)} choices={Object.entries(t.shownKinds).map(([value, label]) => ({ value, label }))} />
      <Loaded of={resource} lines={3}>
        {(items) => (
          <>
            <DecisionTable sandbox={sandbox} items={items} none={decision ? t.noRefusals : t.noDecisions} />
            {items.length === shown && shown < MOST && (
              <div class="row">
                <Button icon="down" onClick={() => setShown(Math.min(MOST, 4 * shown))}>{t.olderDecisions}</Button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function DecisionTable({ sandbox, items, none }: { sandbox: Sandbox; items: NetworkDecision[]; none: string }) {
  const allowed = new Set(sandbox.egress?.allow ?? []);
  if (items.length === 0) return <p class="muted">{none}</p>;
  return (
    <PlainTable label={t.decisions} heads={[t.decidedAt, t.decision, t.target, t.why, t.credential, t.times, [shared.actions, "unseen"]]}>
      {items.map((d) => {
        const target = targetOf(d);
        return (
          <tr key={d.sequence}>
            <td><Time at={d.at} /></td>
            <td>{t.verdicts[d.decision] ?? d.decision}</td>
            <td><Safe text={targetText(target, d.port, d.protocol)} mono max={80} /></td>
            <td class="why"><DecisionWhy of={d} /></td>
            <td><Safe text={d.credential} mono max={63} /></td>
            <td class="number">{d.count}</td>
            <td>{target && d.decision !== "allowed" && isAllowable(d.code) && !allowed.has(target) && <AllowHost sandbox={sandbox.id} host={target} />}</td>
          </tr>
        );
      })}
    </PlainTable>
  );
}
