// SPDX-License-Identifier: Apache-2.0
// lazy/chart: the only user of uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import type { ChartProps } from "../../parts/chart";
import { watchTheme } from "../../parts/theme";

const HEIGHT = 160;
const SHORTEST_S = 10;
/** So few samples are dots, too: a line of one or two would not be seen. */
const FEW = 12;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function seriesOptions(props: ChartProps): uPlot.Series[] {
  const bars = props.kind === "bars" || props.kind === "stacks" ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined;
  return props.series.map((s, i) => ({
    label: s.label,
    stroke: s.isLimit ? colour("--text-3") : colour(`--chart-${i % 5}`),
    width: 1.5,
    dash: s.isLimit ? [5, 4] : undefined,
    fill: bars && !s.isLimit ? colour(`--chart-${i % 5}`) : undefined,
    paths: s.isLimit ? undefined : bars,
    points: { show: (plot: uPlot) => !bars && !s.isLimit && (plot.data[0]?.length ?? 0) <= FEW, size: 4 },
    value: (_: uPlot, v: number | null) => props.format(v),
  }));
}

/** Vertical lines where something happened. */
function drawMarks(plot: uPlot, props: ChartProps): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("--paused");
  ctx.fillStyle = colour("--text-2");
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  for (const mark of props.marks ?? []) {
    const x = plot.valToPos(mark.at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.label, x + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}

/** In seconds. A chart of a few samples shows ten seconds: its ticks would otherwise be milliseconds. */
function timeRange(min: number, max: number): [number, number] {
  return max - min < SHORTEST_S ? [max - SHORTEST_S, max] : [min, max];
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const axis = { stroke: colour("--text-3"), grid: { stroke: colour("--border"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width,
    height: props.height ?? HEIGHT,
    legend: { show: false },
    cursor: { sync: props.group ? { key: props.group } : undefined, drag: { x: true, y: false, setScale: !props.onZoom } },
    scales: { x: { range: (_, min, max) => timeRange(min, max) }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((v) => props.format(v)) }],
    series: [{}, ...seriesOptions(props)],
    hooks: {
      draw: [(plot) => drawMarks(plot, props)],
      setSelect: [
        (plot) => {
          if (plot.select.width > 4) props.onZoom?.(plot.posToVal(plot.select.left, "x") * 1000, plot.posToVal(plot.select.left + plot.select.width, "x") * 1000);
        },
      ],
    },
  };
}

/** The values of each series with those of all later ones on top: the first one is drawn first, and is the highest. */
function stacked(series: ChartProps["series"]): number[][] {
  const sums: number[][] = [];
  for (const s of [...series].reverse()) {
    const below = sums[0];
    sums.unshift(s.values.map((v, i) => (v ?? 0) + (below?.[i] ?? 0)));
  }
  return sums;
}

const valuesOf = (props: ChartProps): (number | null)[][] => (props.kind === "stacks" ? stacked(props.series) : props.series.map((s) => [...s.values]));
const dataOf = (props: ChartProps): uPlot.AlignedData => [props.times.map((at) => at / 1000), ...valuesOf(props)];

export default function ChartView(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = props.series.map((s) => s.label).join("|");
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest.current, parent.clientWidth), dataOf(latest.current), parent);
    };
    draw();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: parent.clientWidth, height: latest.current.height ?? HEIGHT }));
    sizes.observe(parent);
    const stop = watchTheme(draw);
    return () => {
      stop();
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, props.group]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, props.series]);
  const summary = props.series.map((s) => `${s.label}: ${props.format(s.values.findLast((v) => v !== null) ?? null)}`).join(", ");
  return <div class="chart-box" ref={box} role="img" aria-label={`${props.title}. ${summary}`} />;
}
