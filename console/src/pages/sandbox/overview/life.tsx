// SPDX-License-Identifier: Apache-2.0
// The life of a sandbox as a line: how its state changed, now, and what changes by itself next.
import { nextChange } from "../../../objects/sandbox_columns";
import { parseTime } from "../../../parts/format";
import { StateChip } from "../../../parts/chip";
import { Time } from "../../../parts/text";
import { serverNow } from "../../../api/call";
import type { Event } from "../../../api/generated";
import type { Sandbox } from "../../../store/sandboxes";
import { STATE_OF_KIND } from "../../../store/types";
import { sandbox as frame, sandboxOverview as t } from "../../../text/en";

const STEPS_MAX = 6;
/** States that pass by themselves are no steps of a life. */
const PASSING: ReadonlySet<string> = new Set(["sandbox.starting", "sandbox.stopping", "sandbox.deleting"]);

interface Step {
  at: number;
  /** A state, or a word. */
  state: string;
  note?: string;
}

/** The first step and the newest ones. */
export function stepsOf(events: readonly Event[]): Step[] {
  const steps: Step[] = [];
  for (const event of events) {
    const state = STATE_OF_KIND[event.kind];
    const time = parseTime(event.at);
    if (!state || time === null || PASSING.has(event.kind)) continue;
    const note = event.reason ? frame.reasons[event.reason] : undefined;
    steps.push({ at: time, state: event.kind === "sandbox.created" ? "created" : event.kind === "sandbox.resumed" ? "resumed" : state, note });
  }
  const [first, ...rest] = steps;
  return first ? [first, ...rest.slice(-STEPS_MAX)] : [];
}

export function Life({ sandbox, events }: { sandbox: Sandbox; events: readonly Event[] }) {
  const steps = stepsOf(events);
  const awake = parseTime(sandbox.awake_until);
  const isAwake = awake !== null && awake > serverNow();
  const next = isAwake ? null : nextChange(sandbox);
  return (
    <ol class="life" tabIndex={0} aria-label={t.life}>
      {steps.map((step, i) => (
        <li key={`${step.at} ${i}`} class={`life-step life-${step.state}`}>
          <span class="life-word">{step.state === "created" ? t.made : step.state}</span>
          <span class="meta">{step.note ? `${step.note} · ` : ""}<Time at={step.at} /></span>
        </li>
      ))}
      <li class="life-step is-now">
        <span class="life-word">{t.now}</span>
        <StateChip state={sandbox.state} />
      </li>
      <li class="life-step is-next">
        {isAwake ? <><span class="life-word">{t.awakeUntil}</span><span class="meta"><Time at={awake} /></span></>
          : next ? <><span class="life-word">{next.what}</span><span class="meta"><Time at={next.at} /></span></>
            : <span class="muted">{t.nothingNext}</span>}
      </li>
    </ol>
  );
}
