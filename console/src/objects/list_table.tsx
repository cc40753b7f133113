// SPDX-License-Identifier: Apache-2.0
// list_table.tsx: the table of a list page: the items of one answer, in an order that stands in the address, and what an empty list says.
import type { ComponentChildren } from "preact";
import { Empty } from "../parts/notice";
import { Table, type TableProps } from "../parts/table";
import { useItems } from "../parts/view";
import { queryOf, setQuery } from "../router";

/** Shown instead of rows: `text` says what the list will have, `action` and `command` how it gets its first row. */
export interface EmptyList {
  icon: string;
  title: string;
  text?: string;
  action?: ComponentChildren;
  command?: string;
}

export interface ListTableProps<T> extends Omit<TableProps<T>, "source" | "sort" | "onSort" | "empty"> {
  items: readonly T[];
  idOf: (item: T) => string;
  /** The order while the address has none: "name", or "-name" for downwards. */
  sort?: string;
  empty: EmptyList;
}

export function ListTable<T>({ items, idOf, sort, empty, ...table }: ListTableProps<T>) {
  const source = useItems(items, idOf);
  return (
    <Table
      {...table}
      source={source}
      sort={queryOf("sort") || sort}
      onSort={(next) => setQuery({ sort: next })}
      empty={
        <Empty icon={empty.icon} title={empty.title} action={empty.action} command={empty.command}>
          {empty.text}
        </Empty>
      }
    />
  );
}
