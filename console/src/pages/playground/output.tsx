// SPDX-License-Identifier: Apache-2.0
// output.tsx: what a run wrote, in order.
import { spansOf } from "../../parts/ansi";
import { StateChip } from "../../parts/chip";
import { formatBytes, formatDuration } from "../../parts/format";
import { ErrorNote } from "../../parts/notice";
import { showHiddenLines } from "../../parts/safe";
import { playground as t } from "../../text/en";
import { ResultView } from "./result";
import type { Item, Run, RunState } from "./run";

const LINES_MAX = 3000;

/** The lines with their colours; of very many the last ones. */
function Lines({ text }: { text: string }) {
  const lines = text.replace(/\n$/, "").split("\n").slice(-LINES_MAX);
  return (
    <>
      {lines.map((line, i) => (
        <span key={i}>
          {spansOf(line).map((s, j) => (s.style ? <span key={j} class={s.style}>{s.text}</span> : s.text))}
          {"\n"}
        </span>
      ))}
    </>
  );
}

function ItemView({ item, name }: { item: Item; name: string }) {
  if (item.kind === "result") return <ResultView result={item.result} name={name} />;
  if (item.kind === "error") {
    return (
      <div class="out-error">
        <p class="strong text-bad">
          {showHiddenLines(item.name)}: {showHiddenLines(item.value.slice(0, 2000))}
        </p>
        <pre class="out">
          <Lines text={item.traceback} />
        </pre>
      </div>
    );
  }
  return (
    <pre class={`out ${item.kind}`}>
      <Lines text={item.text} />
    </pre>
  );
}

/** name: of the cell, for screen readers. */
export function Output({ run, name }: { run: Run; name: string }) {
  const state = run.state.value;
  const isSilent = !state.isRunning && state.items.length === 0 && !state.error;
  return (
    <div class="cell-output" role="group" aria-label={`${t.output}, ${name}`}>
      {state.dropped > 0 && <p class="meta">{t.cut(formatBytes(state.dropped))}</p>}
      {state.items.map((item, i) => (
        <ItemView key={i} item={item} name={`${name}, ${i + 1}`} />
      ))}
      {isSilent && <p class="muted">{t.noOutput}</p>}
      {state.contextEnded && <p class="text-bad">{t.contextEnded}</p>}
      {state.error && <ErrorNote error={state.error} />}
      <Foot of={state} />
    </div>
  );
}

function Foot({ of }: { of: RunState }) {
  if (of.isRunning) return <StateChip state="running" />;
  const isGood = of.exitCode === 0 && !of.timedOut;
  return (
    <p class="row meta" role="status">
      <StateChip state={of.timedOut ? t.timedOut : isGood ? "done" : "failed"} />
      {of.exitCode !== null && !isGood && t.exit(of.exitCode)}
      <span>{formatDuration(of.durationMs)}</span>
    </p>
  );
}
