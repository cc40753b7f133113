// SPDX-License-Identifier: Apache-2.0
// effective.tsx: what a create request would give: the server is asked with dry_run=true, and says where each value came from.
import { useEffect, useState } from "preact/hooks";
import { fetchRaw } from "../api/call";
import type { SandboxCreate } from "../api/generated";
import { formatDuration, formatMib } from "../parts/format";
import { showHidden } from "../parts/safe";
import { createSandbox as t } from "../text/en";

interface Value {
  name: string;
  value: unknown;
  source?: string;
}

const WAIT_MS = 300;

/** The members of the answer that are {value, source}, at any depth of one. */
function valuesOf(answer: unknown): Value[] {
  if (typeof answer !== "object" || answer === null) return [];
  const list = (answer as { values?: unknown }).values;
  if (Array.isArray(list)) return list as Value[];
  return Object.entries(answer).flatMap(([name, inner]) => {
    if (typeof inner !== "object" || inner === null) return [];
    if ("value" in inner && "source" in inner) return [{ name, ...(inner as Omit<Value, "name">) }];
    return valuesOf(inner);
  });
}

/** The name without its unit, and the value in words: "idle_pause_ms": 300000 is "idle pause", "5 m". */
function readable({ name, value }: Value): [string, string] {
  const [, stem = name, unit] = /^(.*)_(ms|mb)$/.exec(name) ?? [];
  const text = typeof value !== "number" || !unit ? String(value) : unit === "mb" ? formatMib(value) : value === 0 ? t.never : formatDuration(value);
  return [showHidden(stem.replaceAll("_", " "), 40), showHidden(text, 60)];
}

export function Effective({ body }: { body: SandboxCreate }) {
  const [values, setValues] = useState<Value[]>([]);
  const text = JSON.stringify({ ...body, env: undefined });
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      fetchRaw("POST", "/api/sandbox/instances?dry_run=true", { body: JSON.parse(text), signal: abort.signal })
        .then(async (answer) => setValues(valuesOf(await answer.json())))
        .catch(() => setValues([])); // The form says on submit what is wrong.
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  if (values.length === 0) return null;
  return (
    <section class="stack" aria-label={t.youGet}>
      <h3>{t.youGet}</h3>
      <dl class="effective">
        {values.map((v) => {
          const [name, value] = readable(v);
          return (
            <div key={v.name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
              <dd class="meta">{v.source && t.from(showHidden(v.source, 40))}</dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}
