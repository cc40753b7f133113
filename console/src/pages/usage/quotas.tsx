// SPDX-License-Identifier: Apache-2.0
// quotas.tsx: the limits that hold for the caller, and what is used of each.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1Quotas, type Quota } from "../../api/generated";
import { Button } from "../../parts/button";
import { Meter } from "../../parts/chip";
import { Card } from "../../parts/layout";
import { Empty, Loaded } from "../../parts/notice";
import { PlainTable } from "../../parts/plain_table";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { hasScope, missingScope, projectId } from "../../store/session";
import { usage as t } from "../../text/en";
import { SetQuotas } from "./set_quotas";

const digits = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 2 });

/** Requests per second are counted by no one place. */
function Use({ of }: { of: Quota }) {
  if (of.used < 0) return <>{t.quotaOf(digits(of.limit), of.unit)}</>;
  return <Meter used={of.used} limit={of.limit} text={t.spentOf(digits(of.used), `${digits(of.limit)} ${of.unit}`)} label={of.about} />;
}

export function Quotas() {
  const lacks = missingScope(getV1Quotas);
  const resource = useResource(`quotas-${projectId.value}`, (signal) => call(getV1Quotas, { signal }), { onFocus: true, kinds: ["sandbox.*"] });
  const [isOpen, setOpen] = useState(false);
  if (lacks) return null;
  return (
    <Card title={t.quotas} actions={hasScope("admin") && <Button onClick={() => setOpen(true)}>{t.setQuotas}</Button>}>
      <Loaded of={resource} lines={3}>
        {(read) => {
          const limited = read.items.filter((q) => q.limit > 0);
          if (limited.length === 0)
            return (
              <Empty icon="chart" title={t.noQuotas}>
                {t.noQuotasText}
              </Empty>
            );
          return (
            <PlainTable label={t.quotas} heads={[t.quotaLimit, t.quotaFor, t.quotaUsed, t.quotaAgain]}>
              {limited.map((q) => (
                <tr key={`${q.scope} ${q.name}`}>
                  <td data-tip={q.about}>{t.quotaNames[q.name] ?? q.name}</td>
                  <td>
                    {t.quotaScopes[q.scope] ?? q.scope} <Safe text={q.subject} mono max={40} />
                  </td>
                  <td>
                    <Use of={q} />
                  </td>
                  <td data-tip={t.quotaAgainTip}>{q.reset_at ? <Time at={q.reset_at} /> : <span class="muted">–</span>}</td>
                </tr>
              ))}
            </PlainTable>
          );
        }}
      </Loaded>
      {isOpen && <SetQuotas organization={resource.data.value?.items.find((q) => q.scope === "organization")?.subject} onClose={() => setOpen(false)} onDone={resource.reload} />}
    </Card>
  );
}
