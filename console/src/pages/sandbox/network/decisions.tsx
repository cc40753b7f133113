// SPDX-License-Identifier: Apache-2.0
// decisions.tsx: what the rules decided lately, and a click that allows what they refused.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdEgressLog, postApiSandboxInstancesIdEgressAllow, type NetworkDecision } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { Card } from "../../../parts/layout";
import { ErrorNote, Loaded } from "../../../parts/notice";
import { Safe, Time } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import { mergeAnswer, type Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxNetwork as t } from "../../../text/en";

const SHOWN = 50;
const ALLOWABLE = new Set(["host-not-allowed", "address-denied"]);

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
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const scope = missingScope(postApiSandboxInstancesIdEgressAllow);
  const allowed = new Set(sandbox.egress?.allow ?? []);
  const allow = async (host: string): Promise<void> => {
    setBusy(host);
    setError(null);
    try {
      mergeAnswer(await call(postApiSandboxInstancesIdEgressAllow, { path: { id: sandbox.id }, body: { host } }));
      showToast({ kind: "done", text: t.hostAllowed });
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(null);
    }
  };
  if (items.length === 0) return <p class="muted">{t.noDecisions}</p>;
  return (
    <>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <table class="plain-table">
        <thead>
          <tr>{[t.decidedAt, t.decision, t.target, t.why, t.times, ""].map((head) => <th key={head} scope="col">{head}</th>)}</tr>
        </thead>
        <tbody>
          {items.map((d) => {
            const target = targetOf(d);
            return (
              <tr key={d.sequence}>
                <td><Time at={d.at} /></td>
                <td>{t.verdicts[d.decision] ?? d.decision}</td>
                <td><Safe text={target ? (d.port ? `${target}:${d.port}` : target) : null} mono max={60} /></td>
                <td><Safe text={d.rule ? `${d.code} (${d.rule})` : d.code} max={60} /></td>
                <td class="number">{d.count}</td>
                <td>
                  {target && d.decision !== "allowed" && ALLOWABLE.has(d.code) && !allowed.has(target) && (
                    <Button isBusy={busy === target} disabledBecause={scope && shared.missingScope(scope)} onClick={() => void allow(target)}>{t.allowHost}</Button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
