// SPDX-License-Identifier: Apache-2.0
// configuration.tsx: every option of the server with its value and where that comes from.
import { ListTable } from "../../objects/list_table";
import { Chip } from "../../parts/chip";
import { CheckField, TextField } from "../../parts/field";
import { Card } from "../../parts/layout";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe } from "../../parts/text";
import { queryOf, setQuery } from "../../router";
import type { ServerOption } from "../../store/server";
import { server as t } from "../../text/en";

const ROWS_MAX = 16;
const VALUE_MAX = 120;

function Name({ of }: { of: ServerOption }) {
  return (
    <span class="mono" data-tip={showHidden(of.description, 400)}>
      {showHidden(of.name)}
    </span>
  );
}

const COLUMNS: readonly Column<ServerOption>[] = [
  { id: "name", title: t.option, width: 200, grow: 1, isFixed: true, phone: "title", sort: (o) => o.name, cell: (o) => <Name of={o} /> },
  { id: "value", title: t.value, width: 160, grow: 2, phone: "meta", sort: (o) => o.value, cell: (o) => <Safe text={o.value} mono max={VALUE_MAX} /> },
  { id: "source", title: t.source, width: 110, phone: "side", sort: (o) => o.source, cell: (o) => <Chip tone={o.source === "default" ? "plain" : "moving"}>{t.sources[o.source] ?? showHidden(o.source)}</Chip> },
  { id: "default", title: t.default, width: 140, grow: 1, cell: (o) => <Safe text={o.default} mono max={VALUE_MAX} /> },
  { id: "restart", title: t.restart, width: 80, sort: (o) => String(o.needs_restart), cell: (o) => <span data-tip={o.needs_restart ? t.needsRestart : undefined}>{o.needs_restart ? t.yes : t.no}</span> },
];

export function Configuration({ options }: { options: readonly ServerOption[] }) {
  const q = queryOf("q").toLowerCase();
  const isSet = queryOf("set") === "1";
  const takes = (o: ServerOption): boolean => (!isSet || o.source !== "default") && `${o.name} ${o.description} ${o.value}`.toLowerCase().includes(q);
  return (
    <Card title={t.configuration} isFlush>
      <div class="option-filters">
        <TextField label={t.search} isLabelHidden placeholder={t.search} type="search" value={queryOf("q")} onChange={(text) => setQuery({ q: text })} />
        <CheckField label={t.onlySet} value={isSet} onChange={(on) => setQuery({ set: on ? "1" : undefined })} />
      </div>
      <ListTable
        name="options"
        label={t.configuration}
        items={options}
        idOf={(o) => o.name}
        columns={COLUMNS}
        nameOf={(o) => o.name}
        filter={takes}
        filterKey={`${q}|${isSet}`}
        sort="name"
        rowsMax={ROWS_MAX}
        empty={{ icon: "search", title: t.noOption, text: t.noOptionText }}
      />
    </Card>
  );
}
