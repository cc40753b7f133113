// SPDX-License-Identifier: Apache-2.0
// table.tsx: the sums of the range, and their total.
import { formatDuration, formatMoney, formatPercent } from "../../parts/format";
import { Card } from "../../parts/layout";
import { Safe } from "../../parts/text";
import { at, href } from "../../router";
import { usage as t } from "../../text/en";
import { nameOf, type Sum } from "./read";

const HOUR_S = 3600;
/** Rows on the page; the file has all. */
const ROWS_MAX = 200;

const digits = (value: number): string => (value === 0 ? "0" : value < 0.01 ? "< 0.01" : value.toLocaleString("en", { maximumFractionDigits: 2 }));

function Group({ of, group }: { of: Sum; group: string }) {
  const text = <Safe text={nameOf(of)} mono={!of.name} max={60} />;
  return group === "sandbox" && of.group ? <a href={href(at`sandboxes/${of.group}`)}>{text}</a> : text;
}

const COLUMNS: readonly (readonly [title: string, cell: (s: Sum) => string])[] = [
  [t.runTime, (s) => formatDuration(s.seconds * 1000)],
  [t.cpu, (s) => formatDuration(s.cpu_seconds * 1000)],
  [t.memory, (s) => t.gibHours(digits(s.memory_gib_seconds / HOUR_S))],
  [t.storage, (s) => t.gibMonths(digits(s.storage_gib_months))],
];

function totalOf(sums: readonly Sum[]): Sum {
  const total: Sum = { group: "", name: null, seconds: 0, cpu_seconds: 0, vcpu_seconds: 0, memory_gib_seconds: 0, storage_gib_months: 0, usd: 0, usd_micro: 0 };
  for (const s of sums) {
    total.seconds += s.seconds;
    total.cpu_seconds += s.cpu_seconds;
    total.memory_gib_seconds += s.memory_gib_seconds;
    total.storage_gib_months += s.storage_gib_months;
    total.usd += s.usd;
  }
  return total;
}

export function UsageTable({ sums, group }: { sums: readonly Sum[]; group: string }) {
  const total = totalOf(sums);
  const row = (s: Sum) => (
    <>
      {COLUMNS.map(([title, cell]) => (
        <td class="end" key={title}>
          {cell(s)}
        </td>
      ))}
      <td class="end">{total.usd > 0 ? formatPercent((100 * s.usd) / total.usd) : formatPercent(null)}</td>
      <td class="end">{formatMoney(s.usd)}</td>
    </>
  );
  return (
    <Card>
      <div class="usage-scroll" tabIndex={0} role="region" aria-label={t.title}>
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{t.groups[group] ?? t.group}</th>
              {[...COLUMNS.map(([title]) => title), t.share, t.cost].map((title) => (
                <th scope="col" class="end" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sums.slice(0, ROWS_MAX).map((s) => (
              <tr key={s.group}>
                <td>
                  <Group of={s} group={group} />
                </td>
                {row(s)}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{t.total}</th>
              {row(total)}
            </tr>
          </tfoot>
        </table>
      </div>
    </Card>
  );
}
