// SPDX-License-Identifier: Apache-2.0
// users.tsx: all users of the server, for its admins.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import {
  deleteV1UsersUser, deleteV1UsersUserSessions, getV1Users, patchV1UsersUser, postV1UsersUserLink, type User, type UserChange, type UserMade,
} from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { ListTable } from "../../objects/list_table";
import { ShownOnce } from "../../objects/shown_once";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { useCommands } from "../../parts/keys";
import type { MenuItem } from "../../parts/menu";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { showToast } from "../../store/toasts";
import { members as t } from "../../text/en";
import { CreateUser } from "./forms";

const COLUMNS: readonly Column<User>[] = [
  { id: "email", title: t.email, width: 200, grow: 2, isFixed: true, phone: "title", sort: (u) => u.email, cell: (u) => <Safe text={u.email} /> },
  { id: "name", title: t.name, width: 130, grow: 1, phone: "meta", sort: (u) => u.name, cell: (u) => <Safe text={u.name} /> },
  { id: "admin", title: t.role, width: 120, sort: (u) => (u.is_admin ? 0 : 1), cell: (u) => u.is_admin && <Chip tone="moving">{t.serverAdmin}</Chip> },
  { id: "by", title: t.signIn, width: 130, cell: (u) => (u.issuer ? <Safe text={u.issuer} /> : u.has_password ? t.byPassword : <Safe text="" />) },
  { id: "used", title: t.lastUsed, width: 110, sort: (u) => u.last_used_at, cell: (u) => (u.last_used_at ? <Time at={u.last_used_at} /> : <span class="muted">{t.never}</span>) },
  { id: "state", title: t.state, width: 100, phone: "side", sort: (u) => String(u.is_disabled), cell: (u) => <StateChip state={u.is_disabled ? t.disabled : t.active} /> },
];

/** All pages of the list; a server has at most some thousands of users. */
async function readUsers(signal: AbortSignal): Promise<User[]> {
  const users: User[] = [];
  let page: string | undefined;
  do {
    const answer = await call(getV1Users, { query: { page, limit: 200 }, signal });
    users.push(...answer.items);
    page = answer.next_page ?? undefined;
  } while (page);
  return users;
}

export function Users() {
  const resource = useResource("users", readUsers, { onFocus: true });
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<UserMade | null>(null);
  const action = useAction();
  useCommands([{ id: "users.create", title: t.createUser, keys: "c", section: t.title, icon: "plus", run: () => setCreating(true) }]);
  const act = async (call: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await action.run(call);
    resource.reload();
    return isDone;
  };
  const change = (user: string, body: UserChange): Promise<boolean> => act(() => call(patchV1UsersUser, { path: { user }, body }));
  const remove = async (u: User): Promise<void> => {
    if (await ask({ title: t.deleteTitle(showHidden(u.email)), text: t.deleteText, yes: t.deleteUser, isDangerous: true })) await act(() => call(deleteV1UsersUser, { path: { user: u.id } }));
  };
  const endSessions = async (u: User): Promise<void> => {
    if (await act(() => call(deleteV1UsersUserSessions, { path: { user: u.id } }))) showToast({ kind: "done", text: t.sessionsEnded(showHidden(u.email)) });
  };
  const menuOf = (u: User): MenuItem[] => [
    { label: t.newLink, icon: "link", run: () => void act(async () => setMade(await call(postV1UsersUserLink, { path: { user: u.id } }))) },
    { label: t.endSessions, icon: "signout", run: () => void endSessions(u) },
    { label: u.is_admin ? t.takeAdmin : t.makeAdmin, icon: "shield", isApart: true, run: () => void change(u.id, { is_admin: !u.is_admin }) },
    { label: u.is_disabled ? t.enable : t.disable, icon: u.is_disabled ? "play" : "pause", run: () => void change(u.id, { is_disabled: !u.is_disabled }) },
    { label: t.deleteUser, icon: "trash", isDangerous: true, isApart: true, run: () => void remove(u) },
  ];
  const finish = (user: UserMade): void => {
    setCreating(false);
    setMade(user);
    resource.reload();
  };
  return (
    <>
      <div class="row">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {t.createUser}
        </Button>
      </div>
      <ActionError of={action} />
      <Loaded of={resource} lines={5}>
        {(users) => (
          <ListTable
            name="users"
            label={t.tabs["users"] ?? ""}
            items={users}
            idOf={(u) => u.id}
            columns={COLUMNS}
            nameOf={(u) => u.email}
            menuOf={menuOf}
            empty={{ icon: "user", title: t.noUsers, text: t.noUsersText }}
          />
        )}
      </Loaded>
      {isCreating && <CreateUser onClose={() => setCreating(false)} onMade={finish} />}
      {made?.link && (
        <ShownOnce title={t.setLink(showHidden(made.email))} secret={made.link} onDone={() => setMade(null)}>
          <p>{t.linkText}</p>
        </ShownOnce>
      )}
    </>
  );
}
