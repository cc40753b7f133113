// SPDX-License-Identifier: Apache-2.0
// table_head.tsx: the head of a table: names that sort, the box that selects all, the choice of columns.
import { common as t } from "../text/en";
import { Icon } from "./icons";
import { MenuButton, type MenuItem } from "./menu";
import type { Column, TableProps } from "./table";

interface HeaderProps<T> {
  table: TableProps<T>;
  columns: readonly Column<T>[];
  sort: string;
  ids: readonly string[];
  isShown: (id: string) => boolean;
  toggle: (id: string) => void;
  reset: () => void;
}

export function HeaderRow<T>({ table, columns, sort, ids, isShown, toggle, reset }: HeaderProps<T>) {
  const { selection } = table;
  const isAll = selection !== undefined && ids.length > 0 && ids.every((id) => selection.value.has(id));
  const items = (): MenuItem[] => [
    ...table.columns.filter((c) => !c.isFixed).map((c) => ({ label: c.title, isChecked: isShown(c.id), run: () => toggle(c.id) })),
    { label: t.table.resetColumns, run: reset, isApart: true },
  ];
  return (
    <div class="grid-row grid-head" role="row" aria-rowindex={1}>
      {selection && (
        <span role="columnheader" class="cell-check">
          <input type="checkbox" class="check" aria-label={t.table.selectAll} checked={isAll} onChange={() => (selection.value = new Set(isAll ? [] : ids))} />
        </span>
      )}
      {columns.map((c) => (
        <HeaderCell key={c.id} column={c} sort={sort} onSort={table.onSort} />
      ))}
      {(table.menuOf || table.actionsOf) && (
        <span role="columnheader" class="cell-actions">
          <span class="off-screen">{t.actions}</span>
          <MenuButton items={items} label={t.table.columns} button={{ icon: "columns", kind: "quiet", isSmall: true }} />
        </span>
      )}
    </div>
  );
}

function HeaderCell<T>({ column, sort, onSort }: { column: Column<T>; sort: string; onSort?: (sort: string) => void }) {
  const isSorted = sort.replace(/^-/, "") === column.id;
  const isDown = sort.startsWith("-");
  const cls = column.align === "end" ? "cell-end" : undefined;
  if (!column.sort || !onSort) return <span role="columnheader" class={cls}>{column.title}</span>;
  return (
    <span role="columnheader" class={cls} aria-sort={isSorted ? (isDown ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => onSort(isSorted && !isDown ? `-${column.id}` : column.id)}>
        {column.title}
        {isSorted && <Icon name={isDown ? "down" : "up"} size={12} />}
      </button>
    </span>
  );
}
