// SPDX-License-Identifier: Apache-2.0
// set_quotas.tsx: for an admin of the server: the limits of a project, a key or the organisation.
import { useRef, useState } from "preact/hooks";
import { call } from "../../api/call";
import { getApiSandboxKeys, getV1QuotasScopeSubject, patchV1QuotasScopeSubject, type Quota, type QuotaChange } from "../../api/generated";
import { quotaChangeSchema } from "../../api/schemas";
import { DialogFoot } from "../../objects/dialog_foot";
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
  const [isBusy, setBusy] = useState(false);
  // The form that is open sends itself by the button of the dialog.
  const save = useRef<() => Promise<void>>(() => Promise.resolve());
  const submit = async (): Promise<void> => {
    setBusy(true);
    await save.current();
    setBusy(false);
  };
  const subject = scope === "project" ? projectId.value : scope === "key" ? key : organization;
  return (
    <Dialog title={t.setQuotas} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={isBusy} yes={words.save} disabledBecause={subject ? null : t.chooseKey} onClose={onClose} />}>
      <div class="stack">
        <Segmented label={t.quotaFor} value={scope} onChange={(value) => setScope(value as Scope)} choices={Object.entries(t.quotaScopes).map(([value, label]) => ({ value, label, isDisabled: value === "organization" && !organization }))} />
        {scope === "key" && <KeyChoice value={key} onChange={setKey} />}
        {subject && <Limits key={`${scope} ${subject}`} of={{ scope, subject, save, onDone }} />}
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

interface Subject {
  scope: Scope;
  subject: string;
  save: { current: () => Promise<void> };
  onDone: () => void;
}

function Limits({ of }: { of: Subject }) {
  const { scope, subject } = of;
  const resource = useResource(`quotas-of-${scope}-${subject}`, (signal) => call(getV1QuotasScopeSubject, { path: { scope, subject }, signal }));
  return (
    <Loaded of={resource} lines={8}>
      {(read) => <LimitsForm of={of} items={read.items} />}
    </Loaded>
  );
}

function LimitsForm({ of: { scope, subject, save, onDone }, items }: { of: Subject; items: readonly Quota[] }) {
  const stored = Object.fromEntries(FIELDS.map((f) => [f.name, String(items.find((q) => q.name === f.name)?.limit ?? 0)]));
  const form = useForm(FIELDS, quotaChangeSchema, stored);
  save.current = async () => {
    const send = (body: Record<string, unknown>): Promise<unknown> => call(patchV1QuotasScopeSubject, { path: { scope, subject }, body: body as QuotaChange });
    if (!(await form.submit(send))) return;
    showToast({ kind: "done", text: t.quotasSaved });
    onDone();
  };
  return (
    <div class="stack">
      <p class="muted">{t.quotasHelp}</p>
      {form.error && <ErrorNote error={form.error} />}
      <FormFields form={form} fields={FIELDS} schema={quotaChangeSchema} />
    </div>
  );
}
