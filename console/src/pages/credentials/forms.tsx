// SPDX-License-Identifier: Apache-2.0
// forms.tsx: the dialogs that store a credential, change it, and give it new values.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1CredentialPresets, patchV1CredentialsCredential, postV1Credentials, type Credential, type CredentialChange, type CredentialCreate, type CredentialPreset } from "../../api/generated";
import { credentialCreateSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { DialogFoot } from "../../objects/dialog_foot";
import { memberError, useAction, type Action } from "../../objects/use_action";
import { Dialog } from "../../parts/dialog";
import { SelectField, TextField, type Choice } from "../../parts/field";
import { isoOfLocal, localOfIso } from "../../parts/format";
import { Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { hasScope } from "../../store/session";
import { common as words, credentials as t } from "../../text/en";
import { EnvironmentField } from "./environment";
import { environmentOf, fieldsOf, givenValues, hasProblem, isSameEnvironment, listOf, valuesProblem, variableProblems, variablesOf, type Kind, type Variable } from "./fields";
import { ValueInputs } from "./value_inputs";

type Values = Record<string, string>;
type Consent = Credential["consent"];

export const choicesOf = (texts: Record<string, string>): Choice[] => Object.entries(texts).map(([value, label]) => ({ value, label }));
/** A key of a server's own has no user, so that only the project can own what it stores. */
export const ownerChoices = (): Choice[] => choicesOf(t.owners).map((c) => ({ ...c, isDisabled: c.value === "project" && !hasScope("project:write") }));
export const usualOwner = (): "project" | "user" => (hasScope("project:write") ? "project" : "user");

/** Members whose errors stand at their fields. */
const BESIDE = ["name", "hosts", "fields", "environment", "expires_at"];

export function HostsField({ value, onChange, isTried, action }: { value: string; onChange: (value: string) => void; isTried: boolean; action: Action }) {
  const error = isTried && listOf(value).length === 0 ? words.required : memberError(action, "hosts");
  return <TextField label={t.hosts} help={t.hostsHelp} value={value} onChange={onChange} lines={2} isMono isRequired error={error} />;
}

/** A setter that also takes the server's answer to the older text away. */
export const renews = <T,>(action: Action, set: (value: T) => void) => (value: T): void => {
  action.clear();
  set(value);
};

/** To the first field that is wrong, once its error is drawn. */
export const showFirstProblem = (): void => void requestAnimationFrame(() => document.querySelector<HTMLElement>("dialog [aria-invalid=true]")?.focus());

/** What a user can store: a login is begun at the tab Connects. */
const KINDS = choicesOf(t.kinds).filter((c) => c.value === "custom" || fieldsOf(c.value));

export function CreateCredential({ first = "token", onClose, onDone }: { first?: Kind; onClose: () => void; onDone: (made: Credential) => void }) {
  const presets = useResource("credential-presets", (signal) => call(getV1CredentialPresets, { signal }));
  const [preset, setPreset] = useState("");
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>(first);
  const [hosts, setHosts] = useState("");
  const [values, setValues] = useState<Values>({});
  const [variables, setVariables] = useState<Variable[]>([]);
  const [about, setAbout] = useState("");
  const [expires, setExpires] = useState("");
  const [consent, setConsent] = useState<Consent>("conversation");
  const [owner, setOwner] = useState<"project" | "user">(usualOwner());
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const problem = valuesProblem(kind, values);
  const environment = { kind, consent, variables, stored: [], values };
  const choose = (chosen: string, list: readonly CredentialPreset[]): void => {
    setPreset(chosen);
    const found = list.find((p) => p.name === chosen);
    if (!found) return;
    setHosts(found.hosts.join("\n"));
    if (found.kind !== kind && fieldsOf(found.kind)) chooseKind(found.kind as Kind);
    if (!name) setName(found.name);
  };
  const chooseKind = (chosen: Kind): void => {
    setKind(chosen);
    setValues({});
    setVariables((old) => old.map((v) => ({ ...v, field: "" })));
  };
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!name || problem || listOf(hosts).length === 0 || hasProblem(variableProblems(environment))) return showFirstProblem();
    const body: CredentialCreate = {
      name, kind, hosts: listOf(hosts), fields: givenValues(values), consent, owner, ...(about ? { about } : {}),
      // The preset's rules are for credentials of its own kind.
      ...(known.find((p) => p.name === preset)?.kind === kind ? { preset } : {}),
      ...(variables.length ? { environment: environmentOf(variables) } : {}), ...(isoOfLocal(expires) ? { expires_at: isoOfLocal(expires) } : {}),
    };
    if (!(await action.run(async () => onDone(await call(postV1Credentials, { body }))))) showFirstProblem();
  };
  const known = presets.data.value?.items ?? [];
  return (
    <Dialog title={t.create} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={words.create} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} beside={BESIDE} />
        <SelectField label={t.preset} value={preset} onChange={(chosen) => choose(chosen, known)} choices={[{ value: "", label: t.otherService }, ...known.map((p) => ({ value: p.name, label: showHidden(p.about, 80) }))]} />
        <TextField label={t.name} help={t.nameHelp} value={name} onChange={renews(action, setName)} isMono isRequired hasFocus maxLength={credentialCreateSchema.name.maxLength} error={isTried && !name ? words.required : memberError(action, "name")} />
        <HostsField value={hosts} onChange={renews(action, setHosts)} isTried={isTried} action={action} />
        <SelectField label={t.kind} value={kind} onChange={(chosen) => chooseKind(chosen as Kind)} choices={KINDS} />
        {kind === "client" && <Note>{t.clientText(`${location.origin}/v1/connects/callback`)}</Note>}
        <ValueInputs key={kind} kind={kind} values={values} onChange={renews(action, setValues)} error={(isTried && problem) || memberError(action, "fields")} />
        <TextField label={t.about_} help={t.aboutHelp} value={about} onChange={setAbout} maxLength={credentialCreateSchema.about.maxLength} />
        <SelectField label={t.consent} help={t.consentHelp} value={consent} onChange={(chosen) => setConsent(chosen as Consent)} choices={choicesOf(t.consents)} />
        <EnvironmentField form={environment} onChange={renews(action, setVariables)} isTried={isTried} error={memberError(action, "environment")} />
        <TextField label={t.expires} help={t.expiresHelp} type="datetime-local" value={expires} onChange={renews(action, setExpires)} error={memberError(action, "expires_at")} />
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
    if (problem || !(await action.run(async () => onDone(await change(of, { fields: givenValues(values) }))))) showFirstProblem();
  };
  return (
    <Dialog title={t.rotateTitle(showHidden(of.name))} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={t.rotate} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} beside={["fields", "environment"]} />
        <p>{t.rotateText}</p>
        <ValueInputs kind={of.kind} names={of.field_names} values={values} onChange={renews(action, setValues)} error={(isTried && problem) || memberError(action, "fields") || memberError(action, "environment")} />
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
  const [variables, setVariables] = useState<Variable[]>(variablesOf(of.environment));
  const [expires, setExpires] = useState(localOfIso(of.expires_at));
  const [values, setValues] = useState<Values>({});
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const environment = { kind: of.kind, consent, variables, stored: of.field_names, values };
  const isOther = !isSameEnvironment(of.environment, environmentOf(variables));
  const isGrowing = of.kind !== "oauth" && (needsValues(of, listOf(hosts), consent) || (isOther && variables.length > 0));
  const problem = isGrowing ? valuesProblem(of.kind, values) : null;
  // The server moves an expiry, and removes none.
  const noExpiry = of.expires_at !== null && !isoOfLocal(expires) ? t.expiresStays : null;
  const submit = async (): Promise<void> => {
    setTried(true);
    if (listOf(hosts).length === 0 || problem || noExpiry || hasProblem(variableProblems(environment))) return showFirstProblem();
    const body: CredentialChange = {
      hosts: listOf(hosts), about, consent, ...(isGrowing ? { fields: givenValues(values) } : {}), ...(isOther ? { environment: environmentOf(variables) } : {}),
      ...(expires !== localOfIso(of.expires_at) ? { expires_at: isoOfLocal(expires) } : {}),
    };
    if (!(await action.run(async () => onDone(await change(of, body))))) showFirstProblem();
  };
  return (
    <Dialog title={t.changeTitle(showHidden(of.name))} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={words.save} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} beside={BESIDE} />
        <HostsField value={hosts} onChange={renews(action, setHosts)} isTried={isTried} action={action} />
        <TextField label={t.about_} help={t.aboutHelp} value={about} onChange={setAbout} maxLength={credentialCreateSchema.about.maxLength} />
        <SelectField label={t.consent} help={t.consentHelp} value={consent} onChange={(chosen) => setConsent(chosen as Consent)} choices={choicesOf(t.consents)} />
        <EnvironmentField form={environment} onChange={renews(action, setVariables)} isTried={isTried} error={memberError(action, "environment")} />
        <TextField label={t.expires} help={of.expires_at === null ? t.expiresHelp : t.expiresMoved} type="datetime-local" value={expires} onChange={renews(action, setExpires)} error={(isTried && noExpiry) || memberError(action, "expires_at")} />
        {isGrowing && <Note>{t.changeText}</Note>}
        {isGrowing && <ValueInputs kind={of.kind} names={of.field_names} values={values} onChange={renews(action, setValues)} error={(isTried && problem) || memberError(action, "fields")} />}
      </div>
    </Dialog>
  );
}
