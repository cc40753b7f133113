// SPDX-License-Identifier: Apache-2.0
// set_quotas.tsx: for an admin of the server: the limits of a project, a key or the organisation.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getApiSandboxKeys, getV1QuotasScopeSubject, patchV1QuotasScopeSubject, type Quota, type QuotaChange } from "../../api/generated";
import { quotaChangeSchema } from "../../api/schemas";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Segmented, SelectField } from "../../parts/field";
import { FormFields, useForm, type FormField } from "../../parts/form";
import { ErrorNote, Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { projectId } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as words, usage as t } from "../../text/en";

type Scope = Quota["scope"];

const FIELDS: readonly FormField[] = Object.entries(t.quotaNames).map(([name, label]) => ({ name, label, unit: t.quotaUnits[name], isRequired: true }));

interface Props {
  /** Of the project. */
  organization: string | undefined;
  onClose: () => void;
  /** After each change. */
  onDone: () => void;
}

export function SetQuotas({ organization, onClose, onDone }: Props) {
  const [scope, setScope] = useState<Scope>("project");
  const [key, setKey] = useState("");
  const subject = scope === "project" ? projectId.value : scope === "key" ? key : organization;
  return (
    <Dialog title={t.setQuotas} onClose={onClose} footer={<Button onClick={onClose}>{words.close}</Button>}>
      <div class="stack">
        <Segmented label={t.quotaFor} value={scope} onChange={(value) => setScope(value as Scope)} choices={Object.entries(t.quotaScopes).map(([value, label]) => ({ value, label, isDisabled: value === "organization" && !organization }))} />
        {scope === "key" && <KeyChoice value={key} onChange={setKey} />}
        {subject && <Limits key={`${scope} ${subject}`} scope={scope} subject={subject} onDone={onDone} />}
      </div>
    </Dialog>
  );
}

function KeyChoice({ value, onChange }: { value: string; onChange: (key: string) => void }) {
  const resource = useResource(`quota-keys-${projectId.value}`, (signal) => call(getApiSandboxKeys, { signal }));
  return (
    <Loaded of={resource} lines={1}>
      {(read) => (
        <SelectField label={t.quotaScopes["key"] ?? ""} value={value} onChange={onChange} choices={[{ value: "", label: t.chooseKey }, ...read.items.map((k) => ({ value: k.id, label: `${showHidden(k.name, 60)} · ${k.id}` }))]} />
      )}
    </Loaded>
  );
}

function Limits({ scope, subject, onDone }: { scope: Scope; subject: string; onDone: () => void }) {
  const resource = useResource(`quotas-of-${scope}-${subject}`, (signal) => call(getV1QuotasScopeSubject, { path: { scope, subject }, signal }));
  return (
    <Loaded of={resource} lines={8}>
      {(read) => <LimitsForm scope={scope} subject={subject} items={read.items} onDone={onDone} />}
    </Loaded>
  );
}

function LimitsForm({ scope, subject, items, onDone }: { scope: Scope; subject: string; items: readonly Quota[]; onDone: () => void }) {
  const stored = Object.fromEntries(FIELDS.map((f) => [f.name, String(items.find((q) => q.name === f.name)?.limit ?? 0)]));
  const form = useForm(FIELDS, quotaChangeSchema, stored);
  const save = async (): Promise<void> => {
    const send = (body: Record<string, unknown>): Promise<unknown> => call(patchV1QuotasScopeSubject, { path: { scope, subject }, body: body as QuotaChange });
    if (!(await form.submit(send))) return;
    showToast({ kind: "done", text: t.quotasSaved });
    onDone();
  };
  return (
    <form class="stack" noValidate onSubmit={(e) => (e.preventDefault(), void save())}>
      <p class="muted">{t.quotasHelp}</p>
      {form.error && <ErrorNote error={form.error} />}
      <FormFields form={form} fields={FIELDS} schema={quotaChangeSchema} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={form.isBusy} isDisabled={!form.isChanged}>
          {words.save}
        </Button>
      </div>
    </form>
  );
}
