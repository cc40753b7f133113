// SPDX-License-Identifier: Apache-2.0
// forms.tsx: the dialogs that store a credential, change it, and give it new values.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1CredentialPresets, patchV1CredentialsCredential, postV1Credentials, type Credential, type CredentialChange, type CredentialCreate, type CredentialPreset } from "../../api/generated";
import { credentialCreateSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { DialogFoot } from "../../objects/dialog_foot";
import { useAction } from "../../objects/use_action";
import { Dialog } from "../../parts/dialog";
import { SelectField, TextField, type Choice } from "../../parts/field";
import { Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { hasScope } from "../../store/session";
import { common as words, credentials as t } from "../../text/en";
import { givenValues, listOf, valuesProblem, type Kind } from "./fields";
import { ValueInputs } from "./value_inputs";

type Values = Record<string, string>;
type Consent = Credential["consent"];

export const choicesOf = (texts: Record<string, string>): Choice[] => Object.entries(texts).map(([value, label]) => ({ value, label }));
/** A key of a server's own has no user, so that only the project can own what it stores. */
export const ownerChoices = (): Choice[] => choicesOf(t.owners).map((c) => ({ ...c, isDisabled: c.value === "project" && !hasScope("project:write") }));
export const usualOwner = (): "project" | "user" => (hasScope("project:write") ? "project" : "user");

export function HostsField({ value, onChange, isTried }: { value: string; onChange: (value: string) => void; isTried: boolean }) {
  return <TextField label={t.hosts} help={t.hostsHelp} value={value} onChange={onChange} lines={2} isMono isRequired error={isTried && listOf(value).length === 0 ? words.required : null} />;
}

export function CreateCredential({ onClose, onDone }: { onClose: () => void; onDone: (made: Credential) => void }) {
  const presets = useResource("credential-presets", (signal) => call(getV1CredentialPresets, { signal }));
  const [preset, setPreset] = useState("");
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("token");
  const [hosts, setHosts] = useState("");
  const [values, setValues] = useState<Values>({});
  const [about, setAbout] = useState("");
  const [consent, setConsent] = useState<Consent>("conversation");
  const [owner, setOwner] = useState<"project" | "user">(usualOwner());
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const problem = valuesProblem(kind, values);
  const choose = (chosen: string, list: readonly CredentialPreset[]): void => {
    setPreset(chosen);
    const found = list.find((p) => p.name === chosen);
    if (!found) return;
    setHosts(found.hosts.join("\n"));
    if (found.kind in t.kinds) setKind(found.kind as Kind);
    if (!name) setName(found.name);
  };
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!name || problem || listOf(hosts).length === 0) return;
    const body: CredentialCreate = { name, kind, hosts: listOf(hosts), fields: givenValues(values), consent, owner, ...(about ? { about } : {}) };
    await action.run(async () => onDone(await call(postV1Credentials, { body })));
  };
  const known = presets.data.value?.items ?? [];
  return (
    <Dialog title={t.create} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={words.create} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} />
        <SelectField label={t.preset} value={preset} onChange={(chosen) => choose(chosen, known)} choices={[{ value: "", label: t.otherService }, ...known.map((p) => ({ value: p.name, label: showHidden(p.about, 80) }))]} />
        <TextField label={t.name} help={t.nameHelp} value={name} onChange={setName} isMono isRequired hasFocus maxLength={credentialCreateSchema.name.maxLength} error={isTried && !name ? words.required : null} />
        <HostsField value={hosts} onChange={setHosts} isTried={isTried} />
        <SelectField label={t.kind} value={kind} onChange={(chosen) => (setKind(chosen as Kind), setValues({}))} choices={choicesOf(t.kinds)} />
        <ValueInputs key={kind} kind={kind} values={values} onChange={setValues} />
        {isTried && problem && <p class="field-error">{problem}</p>}
        <TextField label={t.about_} help={t.aboutHelp} value={about} onChange={setAbout} maxLength={credentialCreateSchema.about.maxLength} />
        <SelectField label={t.consent} help={t.consentHelp} value={consent} onChange={(chosen) => setConsent(chosen as Consent)} choices={choicesOf(t.consents)} />
        <SelectField label={t.owner} value={owner} onChange={(chosen) => setOwner(chosen as "project" | "user")} choices={ownerChoices()} />
      </div>
    </Dialog>
  );
}

export interface FormProps {
  of: Credential;
  onClose: () => void;
  onDone: (changed: Credential) => void;
}

const change = (of: Credential, body: CredentialChange): Promise<Credential> => call(patchV1CredentialsCredential, { path: { credential: of.name }, body });

export function RotateCredential({ of, onClose, onDone }: FormProps) {
  const [values, setValues] = useState<Values>({});
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const problem = valuesProblem(of.kind, values);
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!problem) await action.run(async () => onDone(await change(of, { fields: givenValues(values) })));
  };
  return (
    <Dialog title={t.rotateTitle(showHidden(of.name))} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={t.rotate} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} />
        <p>{t.rotateText}</p>
        <ValueInputs kind={of.kind} names={of.field_names} values={values} onChange={setValues} />
        {isTried && problem && <p class="field-error">{problem}</p>}
      </div>
    </Dialog>
  );
}

const STRICTNESS: readonly Consent[] = ["project", "sandbox", "conversation"];
/** Fewer hosts and a stricter consent need no values; the server refuses the rest without them. */
const needsValues = (of: Credential, hosts: readonly string[], consent: Consent): boolean =>
  hosts.some((host) => !of.hosts.includes(host)) || STRICTNESS.indexOf(consent) < STRICTNESS.indexOf(of.consent);

export function ChangeCredential({ of, onClose, onDone }: FormProps) {
  const [hosts, setHosts] = useState(of.hosts.join("\n"));
  const [about, setAbout] = useState(of.about);
  const [consent, setConsent] = useState<Consent>(of.consent);
  const [values, setValues] = useState<Values>({});
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const isGrowing = of.kind !== "oauth" && needsValues(of, listOf(hosts), consent);
  const problem = isGrowing ? valuesProblem(of.kind, values) : null;
  const submit = async (): Promise<void> => {
    setTried(true);
    if (listOf(hosts).length === 0 || problem) return;
    const body: CredentialChange = { hosts: listOf(hosts), about, consent, ...(isGrowing ? { fields: givenValues(values) } : {}) };
    await action.run(async () => onDone(await change(of, body)));
  };
  return (
    <Dialog title={t.changeTitle(showHidden(of.name))} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={words.save} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} />
        <HostsField value={hosts} onChange={setHosts} isTried={isTried} />
        <TextField label={t.about_} help={t.aboutHelp} value={about} onChange={setAbout} maxLength={credentialCreateSchema.about.maxLength} />
        <SelectField label={t.consent} help={t.consentHelp} value={consent} onChange={(chosen) => setConsent(chosen as Consent)} choices={choicesOf(t.consents)} />
        {isGrowing && <Note>{t.changeText}</Note>}
        {isGrowing && <ValueInputs kind={of.kind} names={of.field_names} values={values} onChange={setValues} />}
        {isTried && problem && <p class="field-error">{problem}</p>}
      </div>
    </Dialog>
  );
}
