// SPDX-License-Identifier: Apache-2.0
// table_data.ts: a result's data as columns and rows: lists by column (a data frame), or a list of flat objects.
export interface TableData {
  columns: string[];
  rows: string[][];
}

const CELL_MAX = 500;
const COLUMNS_MAX = 60;

const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  return (typeof value === "object" ? JSON.stringify(value) : String(value)).slice(0, CELL_MAX);
};

function ofColumns(data: Record<string, unknown>): TableData | null {
  const lists = Object.entries(data);
  if (lists.length === 0 || !lists.every(([, list]) => Array.isArray(list))) return null;
  const shown = lists.slice(0, COLUMNS_MAX) as [string, unknown[]][];
  const height = Math.max(...shown.map(([, list]) => list.length));
  return { columns: shown.map(([name]) => name), rows: Array.from({ length: height }, (_, i) => shown.map(([, list]) => cellOf(list[i]))) };
}

export function tableOf(data: unknown): TableData | null {
  if (typeof data !== "object" || data === null) return null;
  if (!Array.isArray(data)) return ofColumns(data as Record<string, unknown>);
  if (data.length === 0 || !data.every((row) => typeof row === "object" && row !== null && !Array.isArray(row))) return null;
  const rows = data as Record<string, unknown>[];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, COLUMNS_MAX);
  return { columns, rows: rows.map((row) => columns.map((name) => cellOf(row[name]))) };
}
