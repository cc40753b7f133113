// SPDX-License-Identifier: Apache-2.0
// edit_dialog.tsx: the defaults of a template.
import { call } from "../../api/call";
import { patchApiSandboxTemplatesTemplate, type Template, type TemplateChange } from "../../api/generated";
import { idleTimesSchema, templateChangeSchema, templateResourcesSchema } from "../../api/schemas";
import type { Schema } from "../../api/operation";
import { FormDialog } from "../../objects/form_dialog";
import { pairsToObject, parsePairs } from "../../parts/field";
import type { FormField, FormValues } from "../../parts/form";
import { showHidden } from "../../parts/safe";
import { templates } from "../../store/lists";
import { showToast } from "../../store/toasts";
import { common as shared, templates as t } from "../../text/en";

type Numbers = Record<string, number | undefined>;
const RESOURCES = ["cpu", "memory_mb", "disk_mb", "pids"] as const;
const IDLE = ["pause_ms", "stop_ms"] as const;

const SCHEMA: Schema = { ...templateChangeSchema, ...templateResourcesSchema, ...idleTimesSchema, env: { type: "string" }, ports: { type: "string" } };
const FIELDS: readonly FormField[] = [
  { name: "description", label: t.description },
  { name: "cpu", label: t.cpu, unit: t.cores, help: "" },
  { name: "memory_mb", label: t.memory, unit: t.mib, help: "" },
  { name: "disk_mb", label: t.disk, unit: t.mib, help: "" },
  { name: "pids", label: t.pids, help: "" },
  { name: "user", label: t.user, isMono: true },
  { name: "workdir", label: t.workdir, isMono: true },
  { name: "pause_ms", label: t.pause, unit: t.ms },
  { name: "stop_ms", label: t.stop, unit: t.ms },
  { name: "ports", label: t.ports, help: t.portsHelp },
  { name: "env", label: t.env, help: t.envHelp, lines: 5, isMono: true },
  { name: "public", label: t.public, help: "" },
];

const asNumbers = (value: unknown): Numbers => (value && typeof value === "object" ? (value as Numbers) : {});
const asText = (value: number | undefined): string => (value ? String(value) : "");

function valuesOf(template: Template): FormValues {
  const resources = asNumbers(template.resources);
  const idle = asNumbers(template.idle);
  const env = Object.entries((template.env ?? {}) as Record<string, string>);
  return {
    description: template.description,
    user: template.user,
    workdir: template.workdir,
    public: template.public,
    ports: Array.isArray(template.ports) ? template.ports.join(", ") : "",
    env: env.map(([name, value]) => `${name}=${/^\s|\s$|^["']/.test(value) ? `'${value}'` : value}`).join("\n"),
    ...Object.fromEntries(RESOURCES.map((name) => [name, asText(resources[name])])),
    ...Object.fromEntries(IDLE.map((name) => [name, asText(idle[name])])),
  };
}

function portsOf(text: unknown): number[] {
  const ports = String(text ?? "").split(/[\s,]+/).filter(Boolean).map(Number);
  if (ports.some((p) => !Number.isInteger(p) || p < 1 || p > 65535)) throw new Error(`ports: ${t.badPorts}`);
  return ports;
}

/** A number that is emptied is inherited: 0. */
function changeOf(body: Record<string, unknown>, env: string): TemplateChange {
  const pick = (names: readonly string[]): Numbers => Object.fromEntries(names.map((name) => [name, Number(body[name] ?? 0)]));
  return {
    description: String(body["description"] ?? ""),
    user: body["user"] as string | undefined,
    workdir: body["workdir"] as string | undefined,
    public: body["public"] === true,
    resources: pick(RESOURCES),
    idle: pick(IDLE),
    ports: portsOf(body["ports"]),
    env: pairsToObject(parsePairs(env)),
  };
}

export function EditDialog({ template, onClose }: { template: Template; onClose: () => void }) {
  return (
    <FormDialog
      title={t.editTitle(showHidden(template.name, 60))}
      about={t.defaultsHelp}
      yes={shared.save}
      fields={FIELDS}
      schema={SCHEMA}
      initial={valuesOf(template)}
      onClose={onClose}
      send={async (body) => {
        templates.put(await call(patchApiSandboxTemplatesTemplate, { path: { template: template.id }, body: changeOf(body, String(body["env"] ?? "")) }));
        showToast({ kind: "done", text: t.saved });
      }}
    />
  );
}
