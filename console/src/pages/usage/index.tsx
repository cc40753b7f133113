// SPDX-License-Identifier: Apache-2.0
// Usage: cost and resources over a range, as bars and as a table of the same numbers; budgets.
import { useMemo, useState } from "preact/hooks";
import { linkOf, serverNow } from "../../api/call";
import { getV1Usage } from "../../api/generated";
import { Forbidden } from "../../objects/forbidden";
import { ButtonLink } from "../../parts/button";
import { Chart } from "../../parts/chart";
import { Segmented, SelectField, TextField } from "../../parts/field";
import { formatDuration, formatMoney } from "../../parts/format";
import { Card, Page } from "../../parts/layout";
import { Empty, Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { missingScope, projectId } from "../../store/session";
import { usage as t } from "../../text/en";
import { Budgets } from "./budgets";
import { Quotas } from "./quotas";
import { DAY_MS, DAYS_MAX, dateOf, isoOf, rangeOf, type Range } from "./range";
import { groupQuery, LABEL, measureOf, readUsage, stacksOf, type UsageRead } from "./read";
import { UsageTable } from "./table";
import "./usage.css";

const STACKS_MAX = 5;
const CHART_HEIGHT = 220;
const GROUPS = ["sandbox", "template", "user", "key", "reason", "run", "conversation", "label"];

export default function UsagePage() {
  const lacks = missingScope(getV1Usage);
  return (
    <Page title={t.title} about={t.about} actions={lacks ? undefined : <CsvLink />}>
      {lacks ? <Forbidden scope={lacks} /> : <Usage />}
    </Page>
  );
}

function shown(): { name: string; range: Range; group: string } {
  const name = queryOf("range") || "month";
  return { name, range: rangeOf(name, queryOf("from"), queryOf("to"), serverNow()), group: queryOf("group") || "sandbox" };
}

/** The server writes the file: exactly what the table shows. */
function CsvLink() {
  const { range, group } = shown();
  const query = { from: isoOf(range.from), to: isoOf(range.to), ...groupQuery(group), format: "csv", limit: 1000 };
  return (
    <ButtonLink href={linkOf("/v1/usage", {}, query)} icon="download" download={`usage-${group}-${dateOf(range.from)}.csv`}>
      {t.csv}
    </ButtonLink>
  );
}

function Usage() {
  const { name, range, group } = shown();
  const isWrong = range.to <= range.from;
  return (
    <>
      <Filters name={name} range={range} group={group} />
      {isWrong ? <Note tone="warn">{t.wrongRange}</Note> : group === LABEL ? <Note>{t.labelNeeded}</Note> : <Sums range={range} group={group} />}
      <Quotas />
      <Budgets />
    </>
  );
}

/** The name is taken when the field is left or by Enter: each letter would read all days anew. */
function LabelField({ label }: { label: string }) {
  const [text, setText] = useState(label);
  const take = (): void => setQuery({ group: `${LABEL}${text.trim()}` }, false);
  return (
    <form onSubmit={(e) => (e.preventDefault(), take())} onFocusOut={take}>
      <TextField label={t.labelName} value={text} onChange={setText} placeholder="team" maxLength={128} hasFocus={!label} />
    </form>
  );
}

function Filters({ name, range, group }: { name: string; range: Range; group: string }) {
  const ranges = Object.entries(t.ranges).map(([value, label]) => ({ value, label }));
  const choose = (value: string): void =>
    setQuery({ range: value === "month" ? undefined : value, from: value === "custom" ? dateOf(range.from) : undefined, to: value === "custom" ? dateOf(range.to) : undefined }, false);
  return (
    <div class="usage-filters">
      <Segmented label={t.range} value={name} onChange={choose} choices={ranges} />
      {name === "custom" && (
        <>
          <TextField label={t.from} type="date" value={dateOf(range.from)} onChange={(from) => setQuery({ from })} />
          <TextField label={t.to} type="date" value={dateOf(range.to)} onChange={(to) => setQuery({ to })} />
        </>
      )}
      <SelectField label={t.groupBy} value={group.split(":", 1)[0] ?? group} onChange={(value) => setQuery({ group: value === "label" ? LABEL : value }, false)} choices={GROUPS.map((value) => ({ value, label: t.groups[value] ?? value }))} />
      {group.startsWith(LABEL) && <LabelField key="label" label={group.slice(LABEL.length)} />}
    </div>
  );
}

function Sums({ range, group }: { range: Range; group: string }) {
  const key = `usage-${projectId.value}-${range.from}-${range.to}-${group}`;
  const resource = useResource(key, (signal) => readUsage(range, group, signal), { onFocus: true });
  const days = Math.ceil((range.to - range.from) / DAY_MS);
  return (
    <Loaded of={resource} lines={8} what={t.loadingDays(Math.min(days, DAYS_MAX))}>
      {(read) =>
        read.sums.length === 0 ? (
          <Card>
            <Empty icon="chart" title={t.none}>
              {t.noneText}
            </Empty>
          </Card>
        ) : (
          <>
            <Card>
              {days > DAYS_MAX && <Note>{t.longRange}</Note>}
              <Stacks read={read} group={group} />
            </Card>
            <UsageTable sums={read.sums} group={group} />
          </>
        )
      }
    </Loaded>
  );
}

function Stacks({ read, group }: { read: UsageRead; group: string }) {
  const times = useMemo(() => read.days.map((d) => d.at), [read]);
  const measure = measureOf(read);
  const format = measure === "usd" ? (value: number | null) => formatMoney(value) : (value: number | null) => formatDuration(value === null ? null : value * 1000);
  const title = measure === "usd" ? t.chart : t.chartTime;
  const series = useMemo(() => stacksOf(read, measure, STACKS_MAX, t.others).map((s) => ({ ...s, label: showHidden(s.label, 40) })), [read]);
  return <Chart title={title(t.groups[group] ?? group)} times={times} series={series} format={format} kind="stacks" height={CHART_HEIGHT} />;
}
