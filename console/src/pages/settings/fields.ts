// SPDX-License-Identifier: Apache-2.0
// fields.ts: the fields of each card.
import type { FormField, FormValues } from "../../parts/form";
import { settings as t } from "../../text/en";

const seconds = (name: "terminal_ttl_seconds" | "idle_reap_seconds" | "lifetime_max_seconds" | "idle_pause_seconds" | "idle_stop_seconds" | "artifacts_keep_seconds"): FormField => ({
  name, label: t[name], unit: t.seconds, isRequired: true,
});

export const TIME_FIELDS: readonly FormField[] = [
  seconds("terminal_ttl_seconds"), seconds("idle_reap_seconds"), seconds("lifetime_max_seconds"), seconds("idle_pause_seconds"), seconds("idle_stop_seconds"),
];
export const ARTIFACT_FIELDS: readonly FormField[] = [
  { name: "artifacts_max_mb", label: t.artifacts_max_mb, unit: t.mib, isRequired: true },
  seconds("artifacts_keep_seconds"),
  { name: "record_terminals", label: t.record_terminals },
];
export const SOURCE_FIELDS: readonly FormField[] = [{ name: "source_address", label: t.source_address, help: "" }];
export const RESOURCE_FIELDS: readonly FormField[] = [
  { name: "cpu", label: t.cpu, unit: t.cores, help: "", isRequired: true },
  { name: "memory_mb", label: t.memory_mb, unit: t.mib, help: "", isRequired: true },
  { name: "disk_mb", label: t.disk_mb, unit: t.mib, help: "", isRequired: true },
  { name: "pids", label: t.pids, help: "", isRequired: true },
];

const choose = (values: readonly string[] | undefined, now: string) => [...new Set([...(values ?? []), now])].map((value) => ({ value, label: value }));

/** The choices come from the server; an older one has the present value only. */
export function isolationFields(s: { default_isolation: string; default_storage_provider: string; isolation_choices?: string[]; storage_choices?: string[] }): FormField[] {
  return [
    { name: "default_isolation", label: t.default_isolation, isRequired: true, choices: choose(s.isolation_choices, s.default_isolation) },
    { name: "default_storage_provider", label: t.default_storage_provider, isRequired: true, choices: choose(s.storage_choices, s.default_storage_provider) },
  ];
}

/** The values of a form from an answer; lists are no values. */
export function valuesOf(answer: object): FormValues {
  const values: FormValues = {};
  for (const [name, value] of Object.entries(answer)) {
    if (typeof value === "boolean") values[name] = value;
    else if (typeof value === "number" || typeof value === "string") values[name] = String(value);
  }
  return values;
}
