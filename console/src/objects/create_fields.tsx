// SPDX-License-Identifier: Apache-2.0
// create_fields.tsx: the inputs of the create dialog.
import type { ComponentChildren } from "preact";
import { CheckField, PairsField, Segmented, SelectField, TextField } from "../parts/field";
import { showHidden } from "../parts/safe";
import { providers } from "../store/providers";
import { snapshots, templates, volumes } from "../store/lists";
import { createSandbox as t } from "../text/en";
import { draft, type Draft } from "./create_form";
import { EgressChoices } from "./egress_choices";

/** Levels that a create may ask for. */
const ISOLATIONS: readonly string[] = ["none", "namespaces", "gvisor", "microvm", "remote"];

interface FieldsProps {
  errors: Partial<Record<keyof Draft, string>>;
  onChange: (name: keyof Draft) => void;
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="create-section" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function CreateFields({ errors, onChange }: FieldsProps) {
  const d = draft.value;
  const set = <K extends keyof Draft>(name: K, value: Draft[K]): void => {
    draft.value = { ...draft.peek(), [name]: value };
    onChange(name);
  };
  const text = (name: "cpu" | "memory_mb" | "disk_mb" | "pids" | "autoPause" | "autoStop" | "reap" | "lifetime", label: string, unit: string | undefined, placeholder: string) => (
    <TextField label={label} type="number" step="any" min={0} unit={unit} placeholder={placeholder} value={d[name]} error={errors[name]} onChange={(v) => set(name, v)} />
  );
  const isBlocked = d.network === "blocked";
  return (
    <div class="stack wide create-main">
      <Section title={t.source}>
        <Segmented label={t.source} value={d.source} onChange={(v) => set("source", v as Draft["source"])} choices={[{ value: "template", label: t.fromTemplate }, { value: "snapshot", label: t.fromSnapshot }]} />
        <div class="fields">
          {d.source === "template" ? <TemplateField value={d.template} onChange={(v) => set("template", v)} /> : <SnapshotField value={d.snapshot} error={errors.snapshot} onChange={(v) => set("snapshot", v)} />}
          <TextField label={t.name} value={d.name} error={errors.name} help={t.nameHelp} maxLength={63} onChange={(v) => set("name", v)} />
          <SelectField label={t.volume} value={d.volume} help={t.volumeHelp} onChange={(v) => set("volume", v)} choices={[{ value: "", label: t.noVolume }, ...volumes.items.filter((v) => !v.workspace).map((v) => ({ value: v.name, label: showHidden(v.name, 60) }))]} />
          <TextField label={t.workspace} value={d.workspace} error={errors.workspace} help={t.workspaceHelp} maxLength={53} onChange={(v) => set("workspace", v)} />
        </div>
      </Section>
      <IsolationFields provider={d.provider} isolation={d.isolation} onProvider={(v) => set("provider", v)} onIsolation={(v) => set("isolation", v)} />
      <Section title={t.resources}>
        <div class="fields narrow">
          {text("cpu", t.cpu, t.cores, t.inherit)}
          {text("memory_mb", t.memory, t.mib, t.inherit)}
          {text("disk_mb", t.disk, t.mib, t.inherit)}
          {text("pids", t.pids, undefined, t.inherit)}
        </div>
      </Section>
      <Section title={t.network}>
        <Segmented label={t.network} value={d.network} onChange={(v) => set("network", v as Draft["network"])} choices={(["internet", "list", "blocked"] as const).map((value) => ({ value, label: t.networks[value] }))} />
        {d.network === "list" && (
          <EgressChoices
            value={d}
            onChange={({ presets, credentials }) => {
              draft.value = { ...draft.peek(), presets, credentials };
              onChange("allow");
            }}
          />
        )}
        {d.network === "list" && <TextField label={t.allow} lines={4} isMono help={t.allowHelp} value={d.allow} error={errors.allow} onChange={(v) => set("allow", v)} />}
        {isBlocked && <p class="field-help">{t.blockedHelp}</p>}
        <div class="row">
          <CheckField isSwitch label={t.previewEnabled} value={d.hasPreview && !isBlocked} disabledBecause={isBlocked ? " " : null} onChange={(v) => set("hasPreview", v)} />
          <CheckField isSwitch label={t.previewPublic} value={d.isPublic && d.hasPreview && !isBlocked} disabledBecause={isBlocked || !d.hasPreview ? " " : null} onChange={(v) => set("isPublic", v)} />
        </div>
      </Section>
      <Section title={t.life}>
        <CheckField isSwitch label={t.persistent} help={t.persistentHelp} value={d.isPersistent} onChange={(v) => set("isPersistent", v)} />
        <div class="fields narrow">
          {text("autoPause", t.autoPause, t.minutes, t.serverSetting)}
          {text("autoStop", t.autoStop, t.minutes, t.serverSetting)}
          {!d.isPersistent && text("reap", t.reap, t.minutes, t.serverSetting)}
          {text("lifetime", t.lifetime, t.minutes, t.serverSetting)}
        </div>
      </Section>
      <PairsField label={t.labels} keyLabel={t.key} valueLabel={t.value} pairs={d.labels} max={64} onChange={(v) => set("labels", v)} />
      <PairsField label={t.env} keyLabel={t.key} valueLabel={t.value} pairs={d.env} isSecret max={256} help={t.envHelp} onChange={(v) => set("env", v)} />
    </div>
  );
}

interface IsolationFieldsProps {
  provider: string;
  isolation: string;
  onProvider: (v: string) => void;
  onIsolation: (v: string) => void;
}

/** A chosen provider and isolation that exclude each other are said at once. */
function IsolationFields({ provider, isolation, onProvider, onIsolation }: IsolationFieldsProps) {
  const list = providers.value ?? [];
  const levels = [...new Set(list.map((p) => p.isolation))].filter((level) => ISOLATIONS.includes(level));
  const chosen = list.find((p) => p.name === provider);
  return (
    <Section title={t.isolationTitle}>
      <div class="fields">
        <SelectField label={t.provider} value={provider} help={chosen?.unsupported.length ? t.providerLacks(chosen.unsupported.join(", ")) : t.providerHelp} onChange={onProvider} choices={[{ value: "", label: t.anyProvider }, ...list.map((p) => ({ value: p.name, label: showHidden(`${p.name} · ${p.isolation}`, 70) }))]} />
        <SelectField label={t.isolation} value={isolation} help={t.isolationHelp} onChange={onIsolation} choices={[{ value: "", label: t.serverSetting }, ...levels.map((level) => ({ value: level, label: level }))]} />
      </div>
    </Section>
  );
}

function TemplateField({ value, onChange }: { value: string; onChange: (v: string) => void }) {
  const list = templates.items.map((x) => ({ value: x.name, label: showHidden(x.state === "ready" ? x.name : `${x.name} (${x.state})`, 60), isDisabled: x.state === "failed" }));
  return <SelectField label={t.template} value={value} onChange={onChange} choices={[{ value: "", label: t.defaultTemplate }, ...list]} />;
}

function SnapshotField({ value, error, onChange }: { value: string; error?: string; onChange: (v: string) => void }) {
  const list = snapshots.items.filter((s) => s.state === "ready").map((s) => ({ value: s.id, label: showHidden(`${s.name} · ${s.sandbox_name}`, 70) }));
  return <SelectField label={t.snapshot} value={value} error={error} help={list.length ? undefined : t.noSnapshot} onChange={onChange} choices={[{ value: "", label: "–" }, ...list]} />;
}
