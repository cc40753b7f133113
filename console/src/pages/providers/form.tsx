// SPDX-License-Identifier: Apache-2.0
// form.tsx: the dialog that adds a provider.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1ProvidersKinds, type ProviderAdd, type ProviderKind } from "../../api/generated";
import { providerAddSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { SelectField, TextField } from "../../parts/field";
import { common as words, providers as t } from "../../text/en";

/** The settings, or the first line that is none. */
function parseSettings(text: string): { settings: Record<string, string>; bad: string | null } {
  const settings: Record<string, string> = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    if (at < 1) return { settings, bad: line };
    settings[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { settings, bad: null };
}

export function ProviderForm({ onClose, send }: { onClose: () => void; send: (body: ProviderAdd) => Promise<unknown> }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("docker");
  const [text, setText] = useState("");
  const [kinds, setKinds] = useState<readonly ProviderKind[]>([]);
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const { settings, bad } = parseSettings(text);
  useEffect(() => void action.run(async () => setKinds((await call(getV1ProvidersKinds)).items)), []);
  const options = kinds.find((k) => k.kind === kind)?.options ?? [];
  const submit = async (): Promise<void> => {
    setTried(true);
    if (name && bad === null) await action.run(() => send({ name, kind, settings }));
  };
  const foot = (
    <>
      <span class="grow" />
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button type="submit" kind="primary" isBusy={action.isBusy}>
        {words.add}
      </Button>
    </>
  );
  return (
    <Dialog title={t.add} onClose={onClose} onSubmit={() => void submit()} footer={foot}>
      <div class="stack">
        <p class="muted">{t.addText}</p>
        <ActionError of={action} />
        <TextField label={t.name} value={name} onChange={setName} isRequired hasFocus maxLength={providerAddSchema.name.maxLength} error={isTried && !name ? words.required : null} />
        <SelectField label={t.kind} value={kind} choices={kinds.map((k) => ({ value: k.kind, label: k.kind }))} onChange={setKind} />
        <TextField label={t.settings} help={t.settingsHelp(options.map((o) => o.name).join(", "))} value={text} onChange={setText} lines={5} isMono placeholder="max_sandboxes=20" error={isTried && bad !== null ? t.badLine(bad) : null} />
      </div>
    </Dialog>
  );
}
