// SPDX-License-Identifier: Apache-2.0
// Keys of the project: create, rotate, revoke.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { deleteApiSandboxKeysKey, getApiSandboxKeys, postApiSandboxKeys, postApiSandboxKeysKeyRotate, type Key, type KeyMade } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { Forbidden } from "../../objects/forbidden";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { CheckField } from "../../parts/field";
import { formatRelative, parseTime } from "../../parts/format";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as words, keys as t } from "../../text/en";
import { CreateKey, RotateKey } from "./forms";
import { KeyOnce } from "./once";
import { setOf } from "./scope_sets";

const OLD_MS = 90 * 86_400_000;

function stateOf(key: Key): string {
  if (key.revoked_at) return t.revoked;
  const expires = parseTime(key.expires_at);
  return expires !== null && expires < Date.now() ? t.expired : t.active;
}

function LastUse({ of }: { of: Key }) {
  const at = parseTime(of.last_used_at);
  if (at === null) return <span class="muted">{t.never}</span>;
  return (
    <span class={Date.now() - at > OLD_MS ? "text-warn" : ""}>
      <Time at={at} />
    </span>
  );
}

const COLUMNS: readonly Column<Key>[] = [
  { id: "name", title: t.name, width: 160, grow: 2, isFixed: true, phone: "title", sort: (k) => k.name, cell: (k) => <Safe text={k.name} /> },
  { id: "prefix", title: t.prefix, width: 130, phone: "meta", cell: (k) => <span class="mono">{k.prefix}…</span> },
  { id: "scopes", title: t.scopes, width: 130, sort: (k) => k.scopes.length, cell: (k) => <Chip tip={k.scopes.join("\n")}>{t.sets[setOf(k.scopes)]}</Chip> },
  { id: "member", title: t.member, width: 130, grow: 1, isOff: true, sort: (k) => k.member, cell: (k) => <Safe text={k.member} /> },
  { id: "created", title: t.created, width: 110, sort: (k) => k.created_at, cell: (k) => <Time at={k.created_at} /> },
  { id: "used", title: t.lastUsed, width: 110, phone: "meta", sort: (k) => k.last_used_at, cell: (k) => <LastUse of={k} /> },
  { id: "expires", title: t.expires, width: 110, sort: (k) => k.expires_at, cell: (k) => (k.expires_at ? <Time at={k.expires_at} /> : <span class="muted">{t.never}</span>) },
  { id: "state", title: t.state, width: 100, phone: "side", sort: stateOf, cell: (k) => <StateChip state={stateOf(k) === t.active ? "active" : stateOf(k)} /> },
];

export default function KeysPage() {
  const lacks = missingScope(getApiSandboxKeys);
  return lacks ? (
    <Page title={t.title}>
      <Forbidden scope={lacks} />
    </Page>
  ) : (
    <Keys />
  );
}

function Keys() {
  const resource = useResource("keys", (signal) => call(getApiSandboxKeys, { signal }), { kinds: ["key.*"], onFocus: true });
  const [isCreating, setCreating] = useState(false);
  const [rotated, setRotated] = useState<Key | null>(null);
  const [made, setMade] = useState<KeyMade | null>(null);
  const action = useAction();
  const lacks = missingScope(postApiSandboxKeys);
  const create = (): void => setCreating(true);
  useCommands([{ id: "keys.create", title: t.create, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: create }]);
  const finish = (key: KeyMade): void => {
    setCreating(false);
    setRotated(null);
    setMade(key);
    resource.reload();
  };
  const revoke = async (key: Key): Promise<void> => {
    const at = parseTime(key.last_used_at);
    const used = at === null ? t.never : `${formatRelative(at, Date.now())} ago`;
    const isSure = await ask({ title: t.revokeTitle(showHidden(key.name)), text: t.revokeText(used), yes: t.revoke, isDangerous: true });
    if (!isSure) return;
    if (await action.run(() => call(deleteApiSandboxKeysKey, { path: { key: key.id } }))) showToast({ kind: "done", text: t.revokedToast(showHidden(key.name)) });
    resource.reload();
  };
  const button = (
    <Button kind="primary" icon="plus" disabledBecause={lacks && words.missingScope(lacks)} onClick={create}>
      {t.create}
    </Button>
  );
  return (
    <Page title={t.title} about={t.about} actions={button} isFull>
      <ActionError of={action} />
      <Loaded of={resource} lines={6}>
        {(list) => <KeyTable keys={list.items} onRotate={setRotated} onRevoke={(key) => void revoke(key)} button={button} />}
      </Loaded>
      {isCreating && <CreateKey onClose={() => setCreating(false)} onMade={finish} />}
      {rotated && <RotateKey of={rotated} onClose={() => setRotated(null)} onMade={finish} />}
      {made && <KeyOnce made={made} onDone={() => setMade(null)} />}
    </Page>
  );
}

function KeyTable(props: { keys: Key[]; onRotate: (key: Key) => void; onRevoke: (key: Key) => void; button: ComponentChildren }) {
  const isAll = queryOf("all") === "1";
  const lacks = missingScope(postApiSandboxKeysKeyRotate);
  const because = lacks && words.missingScope(lacks);
  return (
    <>
      <CheckField label={t.showAll} value={isAll} onChange={(on) => setQuery({ all: on ? "1" : undefined })} />
      <ListTable
        name="keys"
        label={t.title}
        items={props.keys}
        idOf={(k) => k.id}
        columns={COLUMNS}
        nameOf={(k) => k.name}
        filter={(k) => isAll || stateOf(k) === t.active}
        filterKey={String(isAll)}
        sort="-created"
        menuOf={(k) =>
          k.revoked_at
            ? []
            : [
                { label: t.rotate, icon: "reload", disabledBecause: because, run: () => props.onRotate(k) },
                { label: t.revoke, icon: "trash", isDangerous: true, isApart: true, disabledBecause: because, run: () => props.onRevoke(k) },
              ]
        }
        empty={{ icon: "key", title: t.none, text: t.noneText, action: props.button, command: t.noneCommand }}
      />
    </>
  );
}
