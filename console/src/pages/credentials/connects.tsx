// SPDX-License-Identifier: Apache-2.0
// connects.tsx: logins at OAuth services. The server keeps their tokens and renews them.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError } from "../../api/errors";
import { deleteV1ConnectsConnect, getV1Connects, postV1Connects, type Connect } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
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
import { BeginConnect } from "./connect_form";
import { CreateCredential } from "./forms";
import { Login } from "./login";

const stateOf = (c: Connect): string => t.connectStates[c.state] ?? c.state;
/** The service refused, or does not answer: Atoll can still delete what it has. */
const SERVICE_AWAY = new Set([502, 503, 504]);

const COLUMNS: readonly Column<Connect>[] = [
  { id: "name", title: t.name, width: 130, grow: 1, isFixed: true, phone: "title", sort: (c) => c.name, cell: (c) => <Safe text={c.name} mono /> },
  { id: "preset", title: t.preset, width: 100, phone: "meta", sort: (c) => c.preset, cell: (c) => <Safe text={c.preset} /> },
  { id: "method", title: t.method, width: 110, sort: (c) => c.method, cell: (c) => t.methods[c.method] ?? c.method },
  { id: "owner", title: t.owner, width: 90, leaves: 2, sort: (c) => c.owner, cell: (c) => t.owners[c.owner] ?? c.owner },
  { id: "scopes", title: t.scopes, width: 140, grow: 1, leaves: 1, cell: (c) => <span class="cut"><Safe text={c.scopes} mono /></span> },
  { id: "renews", title: t.renews, width: 110, sort: (c) => c.renews_at, cell: (c) => <Time at={c.renews_at} /> },
  { id: "created", title: t.begun, width: 110, sort: (c) => c.created_at, cell: (c) => <Time at={c.created_at} /> },
  { id: "state", title: t.state, width: 120, phone: "side", sort: stateOf, cell: (c) => <StateChip state={stateOf(c)} note={c.problem && showHidden(c.problem, 500)} /> },
];

export function Connects() {
  const resource = useResource(`connects-${projectId.value}`, (signal) => call(getV1Connects, { signal }), { kinds: ["credential.*"], onFocus: true });
  const [isBeginning, setBeginning] = useState(false);
  const [again, setAgain] = useState<Connect | null>(null);
  const [isStoring, setStoring] = useState(false);
  const [begun, setBegun] = useState<Connect | null>(null);
  const action = useAction();
  const lacks = missingScope(postV1Connects);
  const because = lacks && words.missingScope(lacks);
  const begin = (): void => (setAgain(null), setBeginning(true));
  useCommands([{ id: "credentials.connect", title: t.connect, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: begin }]);
  const disconnect = async (c: Connect, force?: boolean): Promise<void> => {
    let isAway = false;
    const send = async (): Promise<void> => {
      try {
        await call(deleteV1ConnectsConnect, { path: { connect: c.id }, query: { force } });
      } catch (thrown) {
        isAway = !force && SERVICE_AWAY.has(asApiError(thrown).status);
        throw thrown;
      }
    };
    const isDone = await action.run(send);
    if (isDone) showToast({ kind: "done", text: t.disconnected(showHidden(c.name)) });
    else if (isAway && (await ask({ title: t.forceTitle(showHidden(c.name)), text: t.forceText, yes: t.force, isDangerous: true }))) return disconnect(c, true);
    resource.reload();
  };
  const remove = async (c: Connect): Promise<void> => {
    if (await ask({ title: t.disconnectTitle(showHidden(c.name)), text: t.disconnectText, yes: t.disconnect, isDangerous: true })) await disconnect(c);
  };
  const button = (
    <Button kind="primary" icon="link" disabledBecause={because} onClick={begin}>
      {t.connect}
    </Button>
  );
  const menuOf: TableProps<Connect>["menuOf"] = (c) => [
    { label: t.showLogin, icon: "info", run: () => setBegun(c) },
    { label: t.again, icon: "reload", disabledBecause: because, run: () => (setAgain(c), setBeginning(true)) },
    { label: t.disconnect, icon: "trash", isDangerous: true, isApart: true, disabledBecause: because, run: () => void remove(c) },
  ];
  const close = (): void => {
    setBegun(null);
    resource.reload();
  };
  return (
    <>
      <div class="row">{button}</div>
      <ActionError of={action} />
      <Loaded of={resource} lines={5}>
        {(list) => (
          <ListTable
            name="connects"
            label={t.tabs.connects}
            items={list.items}
            idOf={(c) => c.id}
            columns={COLUMNS}
            nameOf={(c) => c.name}
            sort="-created"
            menuOf={menuOf}
            empty={{ icon: "link", title: t.noConnects, text: t.noConnectsText, action: button, command: "atoll connect add github --preset github --client github-app" }}
          />
        )}
      </Loaded>
      {isStoring && <CreateCredential first="client" onClose={() => setStoring(false)} onDone={() => (setStoring(false), setBeginning(true))} />}
      {isBeginning && <BeginConnect again={again} onStore={() => (setBeginning(false), setStoring(true))} onClose={() => setBeginning(false)} onDone={(made) => (setBeginning(false), setBegun(made), resource.reload())} />}
      {begun && <Login key={begun.id} begun={begun} onClose={close} />}
    </>
  );
}
