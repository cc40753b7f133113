// SPDX-License-Identifier: Apache-2.0
// egress_choices.tsx: presets of hosts and stored credentials that a request for network rules names; the server turns them into rules.
import { call } from "../api/call";
import { getApiSandboxEgressPresets, getV1Credentials } from "../api/generated";
import { CheckField } from "../parts/field";
import { ErrorNote } from "../parts/notice";
import { showHidden } from "../parts/safe";
import { useResource } from "../store/resource";
import { egressChoices as t } from "../text/en";

export interface EgressChoice {
  presets: readonly string[];
  credentials: readonly string[];
}

const toggled = (list: readonly string[], name: string, isOn: boolean): string[] => (isOn ? [...list.filter((n) => n !== name), name] : list.filter((n) => n !== name));
const hostsText = (hosts: readonly string[]): string => showHidden(hosts.join(", "), 120);

export function EgressChoices({ value, onChange }: { value: EgressChoice; onChange: (value: EgressChoice) => void }) {
  const presets = useResource("egress-presets", (signal) => call(getApiSandboxEgressPresets, { signal }));
  const stored = useResource("egress-credentials", (signal) => call(getV1Credentials, { signal }), { kinds: ["credential.*"] });
  const error = presets.error.value ?? stored.error.value;
  // Only a preset has rules that say where the value goes; others take rules that are written by hand.
  const usable = (stored.data.value?.items ?? []).filter((c) => c.preset !== null);
  return (
    <div class="stack">
      {error && <ErrorNote error={error} onRetry={() => (presets.reload(), stored.reload())} />}
      <fieldset class="stack">
        <legend>{t.presets}</legend>
        <p class="field-help">{t.presetsHelp}</p>
        {(presets.data.value?.items ?? []).filter((p) => p.hosts.length > 0).map((p) => (
          <CheckField key={p.name} label={p.name} help={hostsText(p.hosts)} value={value.presets.includes(p.name)} onChange={(isOn) => onChange({ ...value, presets: toggled(value.presets, p.name, isOn) })} />
        ))}
      </fieldset>
      <fieldset class="stack">
        <legend>{t.credentials}</legend>
        <p class="field-help">{t.credentialsHelp}</p>
        {stored.data.value && usable.length === 0 && <p class="muted">{t.noCredential}</p>}
        {usable.map((c) => (
          <CheckField
            key={c.id}
            label={c.name}
            help={hostsText(c.hosts)}
            value={value.credentials.includes(c.name)}
            disabledBecause={c.state === "ok" ? null : t.notOk[c.state] ?? c.state}
            onChange={(isOn) => onChange({ ...value, credentials: toggled(value.credentials, c.name, isOn) })}
          />
        ))}
      </fieldset>
    </div>
  );
}
