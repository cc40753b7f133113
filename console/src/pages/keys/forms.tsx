// SPDX-License-Identifier: Apache-2.0
// forms.tsx: the dialogs that create and rotate a key.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1ProjectsProjectMembers, postApiSandboxKeys, postApiSandboxKeysKeyRotate, type Key, type KeyCreate, type KeyMade } from "../../api/generated";
import { keyCreateSchema } from "../../api/schemas";
import { useAction } from "../../objects/use_action";
import { ActionError } from "../../objects/action_error";
import { DialogFoot } from "../../objects/dialog_foot";
import { Dialog } from "../../parts/dialog";
import { CheckField, Segmented, SelectField, TextField, type Choice } from "../../parts/field";
import { showHidden } from "../../parts/safe";
import { useResource } from "../../store/resource";
import { hasScope, projectId } from "../../store/session";
import { common as words, keys as t } from "../../text/en";
import { SCOPES, SETS, type ScopeSet } from "./scope_sets";

const choicesOf = (texts: Record<string, string>): Choice[] => Object.entries(texts).map(([value, label]) => ({ value, label }));

export function CreateKey({ onClose, onMade }: { onClose: () => void; onMade: (key: KeyMade) => void }) {
  const [name, setName] = useState("");
  const [set, setSet] = useState<ScopeSet>("full");
  const [chosen, setChosen] = useState<readonly string[]>(["sandbox:read"]);
  const [lifetime, setLifetime] = useState("0");
  const [member, setMember] = useState("");
  const [isTried, setTried] = useState(false);
  const members = useResource(`key-members-${projectId.value}`, (signal) => call(getV1ProjectsProjectMembers, { path: { project: projectId.value }, signal }));
  const action = useAction();
  const scopes = set === "chosen" ? chosen : SETS[set];
  const nameError = isTried && !name ? words.required : null;
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!name || scopes?.length === 0) return;
    const body: KeyCreate = { name, ...(scopes ? { scopes: [...scopes] } : {}), member, ...(lifetime === "0" ? {} : { expires_in_ms: Number(lifetime) }) };
    await action.run(async () => onMade(await call(postApiSandboxKeys, { body })));
  };
  const users = (members.data.value?.items ?? []).map((m) => ({ value: m.user, label: `${showHidden(m.user)} · ${showHidden(m.role)}` }));
  return (
    <Dialog title={t.create} onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={words.create} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} />
        <TextField label={t.name} help={t.nameHelp} value={name} onChange={setName} isRequired hasFocus maxLength={keyCreateSchema.name.maxLength} error={nameError} />
        <div class="stack">
          <Segmented label={t.scopes} value={set} onChange={(value) => setSet(value as ScopeSet)} choices={choicesOf(t.sets)} />
          {t.setHelp[set] && <p class="field-help">{t.setHelp[set]}</p>}
          {set === "chosen" && <ScopeChoice chosen={chosen} onChange={setChosen} />}
          {isTried && scopes?.length === 0 && <p class="field-error">{t.noScopes}</p>}
        </div>
        <SelectField label={t.expiry} value={lifetime} onChange={setLifetime} choices={choicesOf(t.lifetimes)} />
        {users.length > 0 && <SelectField label={t.member} help={t.memberHelp} value={member} onChange={setMember} choices={[{ value: "", label: t.noMember }, ...users]} />}
      </div>
    </Dialog>
  );
}

function ScopeChoice({ chosen, onChange }: { chosen: readonly string[]; onChange: (chosen: readonly string[]) => void }) {
  return (
    <div class="stack">
      {[...SCOPES, "admin"].map((scope) => (
        <CheckField
          key={scope}
          label={<span class="mono">{scope}</span>}
          help={t.scopeHelp[scope]}
          value={chosen.includes(scope)}
          disabledBecause={hasScope(scope) ? null : words.missingScope(scope)}
          onChange={(on) => onChange(on ? [...chosen, scope] : chosen.filter((s) => s !== scope))}
        />
      ))}
    </div>
  );
}

export function RotateKey({ of, onClose, onMade }: { of: Key; onClose: () => void; onMade: (key: KeyMade) => void }) {
  const [grace, setGrace] = useState("3600000");
  const action = useAction();
  const submit = (): Promise<boolean> =>
    action.run(async () => onMade(await call(postApiSandboxKeysKeyRotate, { path: { key: of.id }, body: { grace_ms: Number(grace) } })));
  return (
    <Dialog title={t.rotateTitle(showHidden(of.name))} kind="narrow" onClose={onClose} onSubmit={() => void submit()} footer={<DialogFoot isBusy={action.isBusy} yes={t.rotate} onClose={onClose} />}>
      <div class="stack">
        <ActionError of={action} />
        <p>{t.rotateText}</p>
        <SelectField label={t.grace} value={grace} onChange={setGrace} choices={choicesOf(t.graces)} />
      </div>
    </Dialog>
  );
}
