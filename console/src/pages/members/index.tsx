// SPDX-License-Identifier: Apache-2.0
// Members of the project, open invitations, and for an admin of the server all users.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { deleteV1ProjectsProjectMembersUser, getV1ProjectsProjectMembers, patchV1ProjectsProjectMembersUser, type Member } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { Forbidden } from "../../objects/forbidden";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { useCommands } from "../../parts/keys";
import { Page, Tabs } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { href, queryOf } from "../../router";
import { useResource } from "../../store/resource";
import { hasScope, missingScope, projectId, session } from "../../store/session";
import { common as words, members as t } from "../../text/en";
import { AddMember } from "./forms";
import { Invitations } from "./invitations";
import { Users } from "./users";

const MEMBER_COLUMNS: readonly Column<Member>[] = [
  { id: "user", title: t.user, width: 200, grow: 1, isFixed: true, phone: "title", sort: (m) => m.user, cell: (m) => <Safe text={m.user} /> },
  { id: "role", title: t.role, width: 120, phone: "side", sort: (m) => m.role, cell: (m) => <Chip>{t.roles[m.role] ?? showHidden(m.role)}</Chip> },
  { id: "since", title: t.since, width: 140, phone: "meta", sort: (m) => m.created_at, cell: (m) => <Time at={m.created_at} /> },
];

export default function MembersPage() {
  const isServerAdmin = session.value?.user?.is_admin === true || hasScope("admin");
  const tabs = ["members", "invitations", ...(isServerAdmin ? ["users"] : [])];
  const tab = tabs.includes(queryOf("tab")) ? queryOf("tab") : "members";
  const lacks = missingScope(getV1ProjectsProjectMembers);
  return (
    <Page title={t.title} about={t.about} isFull>
      <Tabs label={t.tabsLabel} current={tab} tabs={tabs.map((id) => ({ id, title: t.tabs[id] ?? id, href: href("members", { tab: id === "members" ? undefined : id }) }))} />
      {lacks ? <Forbidden scope={lacks} /> : tab === "users" ? <Users /> : tab === "invitations" ? <Invitations /> : <Members />}
    </Page>
  );
}

function Members() {
  const project = projectId.value;
  const resource = useResource(`members-${project}`, (signal) => call(getV1ProjectsProjectMembers, { path: { project }, signal }), { onFocus: true });
  const [isAdding, setAdding] = useState(false);
  const action = useAction();
  const lacks = missingScope(patchV1ProjectsProjectMembersUser);
  const because = lacks && words.missingScope(lacks);
  useCommands([{ id: "members.add", title: t.add, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: () => setAdding(true) }]);
  const change = async (user: string, role: string): Promise<void> => {
    await action.run(() => call(patchV1ProjectsProjectMembersUser, { path: { project, user }, body: { role } }));
    resource.reload();
  };
  const remove = async (user: string): Promise<void> => {
    if (!(await ask({ title: t.removeTitle(showHidden(user)), text: t.removeText, yes: t.remove, isDangerous: true }))) return;
    await action.run(() => call(deleteV1ProjectsProjectMembersUser, { path: { project, user } }));
    resource.reload();
  };
  const button = (
    <Button icon="plus" disabledBecause={because} onClick={() => setAdding(true)}>
      {t.add}
    </Button>
  );
  const menuOf = (m: Member) => [
    ...Object.entries(t.roles).map(([role, label]) => ({ label: t.changeRole(label), isChecked: m.role === role, disabledBecause: because, run: () => void (m.role !== role && change(m.user, role)) })),
    { label: t.remove, icon: "trash", isDangerous: true, isApart: true, disabledBecause: because, run: () => void remove(m.user) },
  ];
  return (
    <>
      <div class="row">{button}</div>
      <ActionError of={action} />
      <Loaded of={resource} lines={5}>
        {(list) => (
          <ListTable
            name="members"
            label={t.title}
            items={list.items}
            idOf={(m) => m.user}
            columns={MEMBER_COLUMNS}
            nameOf={(m) => m.user}
            sort="user"
            menuOf={menuOf}
            empty={{ icon: "people", title: t.noMembers, text: t.noMembersText }}
          />
        )}
      </Loaded>
      {isAdding && <AddMember onClose={() => setAdding(false)} onDone={() => (setAdding(false), resource.reload())} />}
    </>
  );
}
