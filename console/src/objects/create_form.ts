// SPDX-License-Identifier: Apache-2.0
// create_form.ts: what the create dialog holds, and the request that it stands for.
import { signal } from "@preact/signals";
import type { SandboxCreate } from "../api/generated";
import { resourcesRequestSchema, sandboxCreateSchema } from "../api/schemas";
import { pairsToObject, type Pair } from "../parts/field";
import { checkValue } from "../parts/form";
import { onProjectChange } from "../store/session";

export interface Draft {
  source: "template" | "snapshot";
  template: string;
  snapshot: string;
  name: string;
  volume: string;
  workspace: string;
  /** "" is the first that can. */
  provider: string;
  isolation: string;
  cpu: string;
  memory_mb: string;
  disk_mb: string;
  pids: string;
  network: "internet" | "list" | "blocked";
  allow: string;
  presets: readonly string[];
  credentials: readonly string[];
  hasPreview: boolean;
  isPublic: boolean;
  isPersistent: boolean;
  /** Minutes; "" is the server's setting. */
  autoPause: string;
  autoStop: string;
  reap: string;
  lifetime: string;
  labels: Pair[];
  env: Pair[];
}

export const EMPTY: Draft = {
  source: "template", template: "", snapshot: "", name: "", volume: "", workspace: "", provider: "", isolation: "", cpu: "", memory_mb: "", disk_mb: "", pids: "", network: "internet", allow: "", presets: [], credentials: [], hasPreview: true, isPublic: false,
  isPersistent: false, autoPause: "", autoStop: "", reap: "", lifetime: "", labels: [], env: [],
};

/** A draft lives as long as the tab. */
export const draft = signal<Draft>(EMPTY);
onProjectChange(() => (draft.value = EMPTY));

const MINUTE = 60_000;
export const RESOURCES = ["cpu", "memory_mb", "disk_mb", "pids"] as const;
const TIMES = [["autoPause", "autoPauseMs"], ["autoStop", "autoStopMs"], ["reap", "idle_reap_ms"], ["lifetime", "lifetime_max_ms"]] as const;
const lines = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

function resourcesOf(d: Draft): SandboxCreate["resources"] {
  const given = RESOURCES.filter((r) => d[r] !== "").map((r) => [r, Number(d[r])]);
  return given.length ? Object.fromEntries(given) : undefined;
}

function egressOf(d: Draft): SandboxCreate["egress"] {
  const named = { presets: d.presets.length ? [...d.presets] : undefined, credentials: d.credentials.length ? [...d.credentials] : undefined };
  return { allow: lines(d.allow), deny: ["0.0.0.0/0"], ...named };
}

/** The request; members that say nothing are left out. */
export function bodyOf(d: Draft): SandboxCreate {
  const isBlocked = d.network === "blocked";
  const body: SandboxCreate = {
    template: d.source === "template" && d.template ? d.template : undefined,
    snapshot: d.source === "snapshot" && d.snapshot ? d.snapshot : undefined,
    name: d.name.trim() || undefined,
    volume: d.volume || undefined,
    workspace: d.workspace.trim() || undefined,
    provider: d.provider || undefined,
    isolation: (d.isolation || undefined) as SandboxCreate["isolation"],
    resources: resourcesOf(d),
    internet: isBlocked ? false : undefined,
    egress: d.network === "list" ? egressOf(d) : undefined,
    previewEnabled: !d.hasPreview && !isBlocked ? false : undefined,
    previewPublic: d.isPublic && d.hasPreview && !isBlocked ? true : undefined,
    persistent: d.isPersistent ? true : undefined,
    labels: d.labels.some((p) => p.key) ? pairsToObject(d.labels) : undefined,
    env: d.env.some((p) => p.key) ? pairsToObject(d.env) : undefined,
  };
  for (const [from, to] of TIMES) if (d[from] !== "") body[to] = Number(d[from]) * MINUTE;
  return JSON.parse(JSON.stringify(body)) as SandboxCreate;
}

/** Errors by the draft's member. */
export function findErrors(d: Draft): Partial<Record<keyof Draft, string>> {
  const errors: Partial<Record<keyof Draft, string>> = {};
  const check = (name: keyof Draft, error: string | null): void => {
    if (error) errors[name] = error;
  };
  check("name", checkValue(d.name, sandboxCreateSchema.name, false));
  check("workspace", checkValue(d.workspace, sandboxCreateSchema.workspace, false));
  check("snapshot", checkValue(d.snapshot, {}, d.source === "snapshot"));
  check("allow", checkValue(d.allow.trim(), {}, d.network === "list" && d.presets.length + d.credentials.length === 0));
  for (const r of RESOURCES) check(r, checkValue(d[r], resourcesRequestSchema[r], false));
  for (const [from] of TIMES) check(from, checkValue(d[from], { type: "number", minimum: 0, maximum: 525_600 }, false));
  return errors;
}
