// SPDX-License-Identifier: Apache-2.0
// list.tsx: the credentials that the caller sees. No answer of the server has their values.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { deleteV1CredentialsCredential, getV1Credentials, postV1Credentials, type Credential } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { useCommands } from "../../parts/keys";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column, TableProps } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { missingScope, projectId } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as words, credentials as t } from "../../text/en";
import { ChangeCredential, CreateCredential, RotateCredential } from "./forms";

const stateOf = (c: Credential): string => t.states[c.state] ?? c.state;

const COLUMNS: readonly Column<Credential>[] = [
  { id: "name", title: t.name, width: 130, grow: 1, isFixed: true, phone: "title", sort: (c) => c.name, cell: (c) => <span data-tip={c.about ? showHidden(c.about) : undefined}><Safe text={c.name} mono /></span> },
  { id: "kind", title: t.kind, width: 130, sort: (c) => c.kind, cell: (c) => <Chip tip={c.field_names.join("\n")}>{t.kinds[c.kind] ?? c.kind}</Chip> },
  { id: "hosts", title: t.hosts, width: 160, grow: 2, phone: "meta", sort: (c) => c.hosts[0], cell: (c) => <span class="cut" data-tip={c.hosts.map((h) => showHidden(h)).join("\n")}><Safe text={c.hosts.join(", ")} mono max={120} /></span> },
  { id: "owner", title: t.owner, width: 90, leaves: 2, sort: (c) => c.owner, cell: (c) => t.owners[c.owner] ?? c.owner },
  { id: "consent", title: t.consent, width: 140, leaves: 4, sort: (c) => c.consent, cell: (c) => t.consents[c.consent] ?? c.consent },
  { id: "environment", title: t.environmentShort, width: 130, grow: 1, leaves: 3, cell: (c) => <VariableNames of={c} /> },
  { id: "version", title: t.version, width: 80, align: "end", isOff: true, sort: (c) => c.version, cell: (c) => c.version },
  { id: "fingerprint", title: t.fingerprint, width: 110, leaves: 1, cell: (c) => <span class="mono" data-tip={t.fingerprintTip}>{c.fingerprint}</span> },
  { id: "used", title: t.lastUsed, width: 100, sort: (c) => c.last_used_at, cell: (c) => (c.last_used_at ? <Time at={c.last_used_at} /> : <span class="muted">{t.never}</span>) },
  { id: "expires", title: t.expires, width: 110, isOff: true, sort: (c) => c.expires_at, cell: (c) => (c.expires_at ? <Time at={c.expires_at} /> : <span class="muted">{t.never}</span>) },
  { id: "updated", title: t.updated, width: 110, isOff: true, sort: (c) => c.updated_at, cell: (c) => <Time at={c.updated_at} /> },
  { id: "state", title: t.state, width: 100, phone: "side", sort: stateOf, cell: (c) => <StateChip state={stateOf(c)} /> },
];

function VariableNames({ of }: { of: Credential }) {
  const names = Object.keys(of.environment);
  if (names.length === 0) return <span class="muted">–</span>;
  const each = Object.entries(of.environment).map(([name, field]) => t.variableGets(showHidden(name), t.fieldNames[field] ?? showHidden(field)));
  return (
    <span class="cut" data-tip={each.join("\n")}>
      <Safe text={names.join(", ")} mono max={120} />
    </span>
  );
}

type Opened = { form: "create" } | { form: "rotate" | "change"; of: Credential } | null;

export function Credentials() {
  const resource = useResource(`credentials-${projectId.value}`, (signal) => call(getV1Credentials, { signal }), { kinds: ["credential.*"], onFocus: true });
  const [opened, setOpened] = useState<Opened>(null);
  const action = useAction();
  const lacks = missingScope(postV1Credentials);
  const because = lacks && words.missingScope(lacks);
  const create = (): void => setOpened({ form: "create" });
  useCommands([{ id: "credentials.create", title: t.create, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: create }]);
  const close = (): void => setOpened(null);
  const finish = (text: (name: string) => string) => (c: Credential): void => {
    close();
    showToast({ kind: "done", text: text(showHidden(c.name)) });
    resource.reload();
  };
  const remove = async (c: Credential): Promise<void> => {
    if (!(await ask({ title: t.deleteTitle(showHidden(c.name)), text: c.kind === "oauth" ? t.deleteOauth : t.deleteText, yes: words.delete, isDangerous: true }))) return;
    if (await action.run(() => call(deleteV1CredentialsCredential, { path: { credential: c.name } }))) showToast({ kind: "done", text: t.deleted(showHidden(c.name)) });
    resource.reload();
  };
  const button = (
    <Button kind="primary" icon="plus" disabledBecause={because} onClick={create}>
      {t.create}
    </Button>
  );
  const menuOf: TableProps<Credential>["menuOf"] = (c) => [
    { label: t.rotate, icon: "reload", disabledBecause: because ?? (c.kind === "oauth" ? t.rotateOauth : null), run: () => setOpened({ form: "rotate", of: c }) },
    { label: t.change, icon: "edit", disabledBecause: because, run: () => setOpened({ form: "change", of: c }) },
    { label: words.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: because, run: () => void remove(c) },
  ];
  return (
    <>
      <div class="row">{button}</div>
      <ActionError of={action} />
      <Loaded of={resource} lines={5}>
        {(list) => (
          <ListTable
            name="credentials"
            label={t.title}
            items={list.items}
            idOf={(c) => c.id}
            columns={COLUMNS}
            nameOf={(c) => c.name}
            sort="name"
            menuOf={menuOf}
            empty={{ icon: "shield", title: t.none, text: t.noneText, action: button, command: t.noneCommand }}
          />
        )}
      </Loaded>
      {opened?.form === "create" && <CreateCredential onClose={close} onDone={finish(t.created)} />}
      {opened?.form === "rotate" && <RotateCredential of={opened.of} onClose={close} onDone={finish(t.rotated)} />}
      {opened?.form === "change" && <ChangeCredential of={opened.of} onClose={close} onDone={finish(t.changed)} />}
    </>
  );
}
