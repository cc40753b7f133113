// SPDX-License-Identifier: Apache-2.0
// What a sandbox has cost: the sum, by reason, by day, and the budgets that limit it.
import { call, linkOf, serverNow } from "../../../api/call";
import { getV1Usage, postV1Budgets, type UsageSum } from "../../../api/generated";
import { ButtonLink } from "../../../parts/button";
import { Chart } from "../../../parts/chart";
import { formatDuration, formatMoney } from "../../../parts/format";
import { Card, Tile } from "../../../parts/layout";
import { Empty, Loaded } from "../../../parts/notice";
import { Safe } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import { missingScope } from "../../../store/session";
import { sandboxCost as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { Budgets } from "./budgets";
import "./cost.css";

const DAYS = 30;
const DAY_MS = 86_400_000;

interface Costs {
  reasons: UsageSum[];
  days: UsageSum[];
}

async function readCosts(sandbox: string, from: string, signal: AbortSignal): Promise<Costs> {
  const read = async (group_by: "reason" | "day"): Promise<UsageSum[]> => (await call(getV1Usage, { query: { sandbox, group_by, from }, signal })).items;
  const [reasons, days] = await Promise.all([read("reason"), read("day")]);
  return { reasons: reasons.sort((a, b) => b.usd_micro - a.usd_micro), days: days.sort((a, b) => (a.group < b.group ? -1 : 1)) };
}

const startOf = (): string => new Date(serverNow() - DAYS * DAY_MS).toISOString().slice(0, 10);
const sum = (items: readonly UsageSum[], member: "usd" | "seconds" | "cpu_seconds" | "storage_gib_months"): number => items.reduce((all, item) => all + item[member], 0);

export default function CostTab({ sandbox }: TabProps) {
  const from = startOf();
  const costs = useResource(`cost ${sandbox.id} ${from}`, (signal) => readCosts(sandbox.id, from, signal), { kinds: ["budget.*", "sandbox.stopped", "sandbox.paused"], onFocus: true });
  return (
    <div class="stack wide cost">
      <Loaded of={costs} lines={8}>
        {(data) => <Sums data={data} sandbox={sandbox.id} from={from} />}
      </Loaded>
      <Budgets sandbox={sandbox} lacks={missingScope(postV1Budgets)} />
    </div>
  );
}

/** Each day from the first on: a day without a cost is a bar of height 0. */
function dailyCosts(days: readonly UsageSum[], from: string): { times: number[]; values: number[] } {
  const known = new Map(days.map((d) => [d.group, d.usd]));
  const begin = Date.parse(from);
  const count = Math.floor((serverNow() - begin) / DAY_MS) + 1;
  const times = Array.from({ length: count }, (_, i) => begin + i * DAY_MS);
  return { times, values: times.map((at) => known.get(new Date(at).toISOString().slice(0, 10)) ?? 0) };
}

function Sums({ data, sandbox, from }: { data: Costs; sandbox: string; from: string }) {
  if (data.reasons.length === 0) return <Empty icon="dollar" title={t.none} command={`atoll usage --sandbox ${sandbox}`}>{t.noneText}</Empty>;
  const daily = dailyCosts(data.days, from);
  return (
    <>
      <div class="tiles">
        <Tile label={t.total} value={formatMoney(sum(data.reasons, "usd"))} note={t.totalNote} />
        <Tile label={t.running} value={formatDuration(sum(data.reasons, "seconds") * 1000)} />
        <Tile label={t.cpu} value={formatDuration(sum(data.reasons, "cpu_seconds") * 1000)} />
        <Tile label={t.storage} value={sum(data.reasons, "storage_gib_months").toFixed(3)} note={t.storageNote} />
      </div>
      <div class="columns">
        <Card title={t.byReason} isFlush actions={<ButtonLink isSmall icon="download" download href={linkOf(getV1Usage.path, {}, { sandbox, from, group_by: "reason", format: "csv" })}>{t.csv}</ButtonLink>}>
          <SumTable items={data.reasons} group={t.group.reason} />
        </Card>
        <Card title={t.byDay}>
          <Chart title={t.cost} kind="bars" times={daily.times} series={[{ label: t.cost, values: daily.values }]} format={(v) => formatMoney(v)} height={180} />
        </Card>
      </div>
    </>
  );
}

function SumTable({ items, group }: { items: readonly UsageSum[]; group: string }) {
  const all = sum(items, "usd");
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th scope="col">{group}</th>
          <th scope="col" class="end">{t.time}</th>
          <th scope="col" class="end">{t.cost}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.group}>
            <td>
              <Safe text={item.group} max={60} />
              <svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
                <rect width={all > 0 ? (item.usd / all) * 100 : 0} height="3" />
              </svg>
            </td>
            <td class="end nowrap">{formatDuration(item.seconds * 1000)}</td>
            <td class="end nowrap">{formatMoney(item.usd)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
