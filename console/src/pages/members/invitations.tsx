// SPDX-License-Identifier: Apache-2.0
// invitations.tsx: open invitations of the project. The link of one is shown once.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { deleteV1ProjectsProjectInvitationsInvitation, getV1ProjectsProjectInvitations, type Invitation, type InvitationMade } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { Forbidden } from "../../objects/forbidden";
import { ListTable } from "../../objects/list_table";
import { ShownOnce } from "../../objects/shown_once";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { ask } from "../../parts/dialog";
import { useCommands } from "../../parts/keys";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { missingScope, projectId } from "../../store/session";
import { members as t } from "../../text/en";
import { Invite } from "./forms";

const COLUMNS: readonly Column<Invitation>[] = [
  { id: "email", title: t.email, width: 200, grow: 1, isFixed: true, phone: "title", sort: (i) => i.email, cell: (i) => <Safe text={i.email} /> },
  { id: "role", title: t.role, width: 110, phone: "side", sort: (i) => i.role, cell: (i) => t.roles[i.role] ?? showHidden(i.role) },
  { id: "by", title: t.invitedBy, width: 150, sort: (i) => i.invited_by, cell: (i) => <Safe text={i.invited_by} /> },
  { id: "expires", title: t.expires, width: 120, phone: "meta", sort: (i) => i.expires_at, cell: (i) => <Time at={i.expires_at} /> },
];

export function Invitations() {
  const lacks = missingScope(getV1ProjectsProjectInvitations);
  return lacks ? <Forbidden scope={lacks} /> : <InvitationList />;
}

function InvitationList() {
  const project = projectId.value;
  const resource = useResource(`invitations-${project}`, (signal) => call(getV1ProjectsProjectInvitations, { path: { project }, signal }), { onFocus: true });
  const [isInviting, setInviting] = useState(false);
  const [made, setMade] = useState<InvitationMade | null>(null);
  const action = useAction();
  useCommands([{ id: "members.invite", title: t.invite, keys: "c", section: t.title, icon: "plus", run: () => setInviting(true) }]);
  const withdraw = async (one: Invitation): Promise<void> => {
    if (!(await ask({ title: t.withdrawTitle(showHidden(one.email)), text: t.withdrawText, yes: t.withdraw, isDangerous: true }))) return;
    await action.run(() => call(deleteV1ProjectsProjectInvitationsInvitation, { path: { project, invitation: one.id } }));
    resource.reload();
  };
  const finish = (one: InvitationMade): void => {
    setInviting(false);
    setMade(one);
    resource.reload();
  };
  const button = (
    <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
      {t.invite}
    </Button>
  );
  return (
    <>
      <div class="row">{button}</div>
      <ActionError of={action} />
      <Loaded of={resource} lines={4}>
        {(list) => (
          <ListTable
            name="invitations"
            label={t.tabs["invitations"] ?? ""}
            items={list.items}
            idOf={(i) => i.id}
            columns={COLUMNS}
            nameOf={(i) => i.email}
            menuOf={(i) => [{ label: t.withdraw, icon: "trash", isDangerous: true, run: () => void withdraw(i) }]}
            empty={{ icon: "people", title: t.noInvitations, text: t.noInvitationsText }}
          />
        )}
      </Loaded>
      {isInviting && <Invite onClose={() => setInviting(false)} onMade={finish} />}
      {made && (
        <ShownOnce title={t.link(showHidden(made.email))} secret={made.link} onDone={() => setMade(null)}>
          <p>{t.linkText}</p>
        </ShownOnce>
      )}
    </>
  );
}
