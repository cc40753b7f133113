// SPDX-License-Identifier: Apache-2.0
// connect_form.tsx: begins a login at a service, by a preset or at any service that publishes its metadata.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1CredentialPresets, getV1Credentials, postV1Connects, type Connect, type ConnectCreate, type Credential, type CredentialPreset } from "../../api/generated";
import { connectCreateSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { DialogFoot } from "../../objects/dialog_foot";
import { memberError, useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Segmented, SelectField, TextField } from "../../parts/field";
import { Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { projectId } from "../../store/session";
import { common as words, credentials as t } from "../../text/en";
import { listOf } from "./fields";
import { choicesOf, HostsField, ownerChoices, renews, showFirstProblem, usualOwner } from "./forms";

type Method = Connect["method"];
interface Choices {
  presets: CredentialPreset[];
  clients: string[];
  stored: Credential[];
}

async function readChoices(signal: AbortSignal): Promise<Choices> {
  const [presets, stored] = await Promise.all([call(getV1CredentialPresets, { signal }), call(getV1Credentials, { signal })]);
  return { presets: presets.items.filter((p) => p.oauth), clients: stored.items.filter((c) => c.kind === "client").map((c) => c.name), stored: stored.items };
}

interface Props {
  /** A login that the new one replaces. */
  again?: Connect | null;
  onClose: () => void;
  onDone: (begun: Connect) => void;
  /** To the form that stores an application, without which no login begins. */
  onStore: () => void;
}

export function BeginConnect({ again = null, onClose, onDone, onStore }: Props) {
  const choices = useResource(`connect-choices-${projectId.value}`, readChoices);
  const [preset, setPreset] = useState<string | null>(again && (again.preset ?? ""));
  const [issuer, setIssuer] = useState("");
  const [client, setClient] = useState("");
  const [method, setMethod] = useState<Method>(again?.method ?? "code");
  const [name, setName] = useState(again?.name ?? "");
  const [typedHosts, setHosts] = useState<string | null>(null);
  const [scopes, setScopes] = useState(again?.scopes ?? "");
  const [chosenConsent, setConsent] = useState<string | null>(null);
  const [owner, setOwner] = useState<string>(again?.owner ?? usualOwner());
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const known = choices.data.value;
  const replaced = again && known?.stored.find((c) => c.name === again.name && c.owner === again.owner);
  const hosts = typedHosts ?? replaced?.hosts.join("\n") ?? "";
  const consent = chosenConsent ?? replaced?.consent ?? "conversation";
  const chosen = preset ?? known?.presets[0]?.name ?? "";
  const application = client || known?.clients[0] || "";
  const isFree = chosen === "";
  const finalName = name || chosen;
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!finalName || !application || (isFree && (!issuer || listOf(hosts).length === 0))) return showFirstProblem();
    const body: ConnectCreate = {
      name: finalName, client: application, method, consent: consent as NonNullable<ConnectCreate["consent"]>, owner: owner as "project" | "user",
      ...(isFree ? { issuer, hosts: listOf(hosts) } : { preset: chosen }), ...(scopes ? { scopes: listOf(scopes) } : {}),
    };
    if (!(await action.run(async () => onDone(await call(postV1Connects, { body }))))) showFirstProblem();
  };
  const needsApplication = known !== undefined && known.clients.length === 0 ? t.clientNeeded : null;
  return (
    <Dialog title={again ? t.againTitle(showHidden(again.name)) : t.connect} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={t.begin} disabledBecause={needsApplication} onClose={onClose} />}>
      <ActionError of={action} beside={["name", "hosts", "issuer"]} />
      <Loaded of={choices} lines={5}>
        {(read) => (
          <div class="stack">
            {again && <p class="muted">{t.againText}</p>}
            <SelectField label={t.preset} value={chosen} onChange={setPreset} choices={[...read.presets.map((p) => ({ value: p.name, label: showHidden(p.about, 80) })), { value: "", label: t.otherService }]} />
            {isFree && <TextField label={t.issuer} help={t.issuerHelp} value={issuer} onChange={renews(action, setIssuer)} type="url" isRequired maxLength={connectCreateSchema.issuer.maxLength} error={isTried && !issuer ? words.required : memberError(action, "issuer")} />}
            {isFree && <HostsField value={hosts} onChange={renews(action, setHosts)} isTried={isTried} action={action} />}
            {read.clients.length === 0 ? (
              <Note tone="warn" action={<Button isSmall onClick={onStore}>{t.storeClient}</Button>}>{t.noClient}</Note>
            ) : (
              <SelectField label={t.client} help={t.clientHelp} value={application} onChange={setClient} choices={read.clients.map((value) => ({ value, label: showHidden(value) }))} />
            )}
            <Segmented label={t.method} value={method} onChange={(value) => setMethod(value as Method)} choices={choicesOf(t.methods)} />
            <p class="field-help">{t.methodHelp[method]}</p>
            <TextField label={t.name} help={t.connectNameHelp} value={name} placeholder={chosen} onChange={renews(action, setName)} isMono maxLength={connectCreateSchema.name.maxLength} error={isTried && !finalName ? words.required : memberError(action, "name")} />
            <TextField label={t.scopes} help={t.scopesHelp} value={scopes} onChange={setScopes} isMono />
            <SelectField label={t.consent} help={t.consentHelp} value={consent} onChange={setConsent} choices={choicesOf(t.consents)} />
            <SelectField label={t.owner} value={owner} onChange={setOwner} choices={ownerChoices()} />
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
