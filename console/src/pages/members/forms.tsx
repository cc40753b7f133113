// SPDX-License-Identifier: Apache-2.0
// forms.tsx: add a member, invite a person, create a user.
import { call } from "../../api/call";
import {
  postV1ProjectsProjectInvitations, postV1ProjectsProjectMembers, postV1Users, type InvitationCreate, type InvitationMade, type MemberAdd, type UserCreate, type UserMade,
} from "../../api/generated";
import { invitationCreateSchema, memberAddSchema, userCreateSchema } from "../../api/schemas";
import type { Schema } from "../../api/operation";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { FormFields, useForm, type FormField, type FormValues } from "../../parts/form";
import { ErrorNote } from "../../parts/notice";
import { projectId } from "../../store/session";
import { common as words, members as t } from "../../text/en";

const ROLES = Object.entries(t.roles).map(([value, label]) => ({ value, label }));
const ROLE: FormField = { name: "role", label: t.role, help: t.roleHelp, isRequired: true, choices: ROLES };

interface FormDialogProps {
  title: string;
  yes: string;
  text?: string;
  fields: readonly FormField[];
  schema: Schema;
  initial?: FormValues;
  onClose: () => void;
  send: (body: Record<string, unknown>) => Promise<unknown>;
}

function PersonForm({ title, yes, text, fields, schema, initial, onClose, send }: FormDialogProps) {
  const form = useForm(fields, schema, initial);
  const foot = (
    <>
      <span class="grow" />
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button type="submit" kind="primary" isBusy={form.isBusy}>
        {yes}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => void form.submit(send)} footer={foot}>
      <div class="stack">
        {form.error && <ErrorNote error={form.error} />}
        {text && <p>{text}</p>}
        <FormFields form={form} fields={fields} schema={schema} />
      </div>
    </Dialog>
  );
}

const ADD_FIELDS: readonly FormField[] = [{ name: "user", label: t.user, help: t.addHelp, isRequired: true }, ROLE];

export function AddMember({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const send = async (body: Record<string, unknown>): Promise<void> => {
    await call(postV1ProjectsProjectMembers, { path: { project: projectId.value }, body: body as unknown as MemberAdd });
    onDone();
  };
  return <PersonForm title={t.add} yes={words.add} fields={ADD_FIELDS} schema={memberAddSchema} initial={{ role: "member" }} onClose={onClose} send={send} />;
}

const INVITE_FIELDS: readonly FormField[] = [{ name: "email", label: t.email, help: "", isRequired: true }, ROLE];

export function Invite({ onClose, onMade }: { onClose: () => void; onMade: (made: InvitationMade) => void }) {
  const send = async (body: Record<string, unknown>): Promise<void> =>
    onMade(await call(postV1ProjectsProjectInvitations, { path: { project: projectId.value }, body: body as unknown as InvitationCreate }));
  return <PersonForm title={t.inviteTitle} text={t.inviteText} yes={t.invite} fields={INVITE_FIELDS} schema={invitationCreateSchema} initial={{ role: "member" }} onClose={onClose} send={send} />;
}

const USER_FIELDS: readonly FormField[] = [
  { name: "email", label: t.email, isRequired: true },
  { name: "name", label: t.name, help: "" },
  { name: "is_admin", label: t.isAdmin, help: "" },
];

export function CreateUser({ onClose, onMade }: { onClose: () => void; onMade: (made: UserMade) => void }) {
  const send = async (body: Record<string, unknown>): Promise<void> => onMade(await call(postV1Users, { body: body as unknown as UserCreate }));
  return <PersonForm title={t.createUser} text={t.inviteText} yes={words.create} fields={USER_FIELDS} schema={userCreateSchema} onClose={onClose} send={send} />;
}
