// SPDX-License-Identifier: Apache-2.0
// chart.tsx: a chart over time with its table view; uPlot itself is in lazy/chart. Give several charts the same `group` for one cursor.
import { useState } from "preact/hooks";
import { common as t } from "../text/en";
import { Button } from "./button";
import { formatClock, NOT_KNOWN } from "./format";
import { Lazy } from "./lazy";

export interface Series {
  label: string;
  /** Of the same length as `times`; null: not measured. */
  values: readonly (number | null)[];
  /** Dashed, for limits. */
  isLimit?: boolean;
}
export interface Mark {
  /** Milliseconds. */
  at: number;
  label: string;
}
export interface ChartProps {
  title: string;
  /** Milliseconds, growing. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number | null) => string;
  marks?: readonly Mark[];
  group?: string;
  height?: number;
  /** stacks: bars on top of each other. */
  kind?: "line" | "bars" | "stacks";
  /** The range that the user dragged, in ms. */
  onZoom?: (from: number, to: number) => void;
}

const load = () => import("../lazy/chart");

export function Chart(props: ChartProps) {
  const [isTable, setTable] = useState(false);
  const hasValues = props.series.some((s) => !s.isLimit && s.values.some((v) => v !== null));
  return (
    <figure class="chart">
      <figcaption class="chart-head">
        <span class="chart-title">{props.title}</span>
        <Legend series={props.series} format={props.format} />
        <Button kind="quiet" isSmall icon={isTable ? "chart" : "columns"} label={isTable ? t.chart.asChart : t.chart.asTable} onClick={() => setTable(!isTable)} />
      </figcaption>
      {!hasValues ? <p class="muted chart-none">{t.chart.none}</p> : isTable ? <ChartTable {...props} /> : <Lazy load={load} props={props} lines={3} />}
    </figure>
  );
}

function Legend({ series, format }: Pick<ChartProps, "series" | "format">) {
  return (
    <span class="chart-legend">
      {series.map((s, i) => (
        <span key={s.label}>
          <i class={s.isLimit ? "line-limit" : `line-${i}`} aria-hidden="true" />
          {s.label} <b>{format(s.values.findLast((v) => v !== null) ?? null)}</b>
        </span>
      ))}
    </span>
  );
}

function ChartTable({ title, times, series, format }: ChartProps) {
  return (
    <div class="chart-table" tabIndex={0} role="region" aria-label={title}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{t.chart.time}</th>
            {series.map((s) => (
              <th scope="col" key={s.label}>
                {s.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, i) => (
            <tr key={at}>
              <td>{formatClock(at)}</td>
              {series.map((s) => (
                <td key={s.label}>{s.values[i] === null || s.values[i] === undefined ? NOT_KNOWN : format(s.values[i] ?? null)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
