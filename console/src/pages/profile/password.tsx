// SPDX-License-Identifier: Apache-2.0
// password.tsx: change the own password.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1UsersUser, postV1UsersUserPassword } from "../../api/generated";
import { passwordChangeSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/field";
import { Card } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../store/resource";
import { showToast } from "../../store/toasts";
import { common as words, profile as t } from "../../text/en";

const PASSWORD_MIN = passwordChangeSchema.new.minLength;
const NOTHING = { old: "", new: "", again: "" };

export function PasswordCard({ user }: { user: string | null }) {
  return (
    <Card title={t.password}>{user === null ? <p class="muted">{t.noPassword}</p> : <OwnPassword user={user} />}</Card>
  );
}

function OwnPassword({ user }: { user: string }) {
  const resource = useResource(`user-${user}`, (signal) => call(getV1UsersUser, { path: { user }, signal }));
  return <Loaded of={resource}>{(me) => (me.has_password ? <PasswordForm user={user} /> : <p class="muted">{t.noPassword}</p>)}</Loaded>;
}

function PasswordForm({ user }: { user: string }) {
  const [values, setValues] = useState(NOTHING);
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const set = (change: Partial<typeof NOTHING>): void => setValues((old) => ({ ...old, ...change }));
  const errors = {
    old: values.old ? null : words.required,
    new: values.new.length < PASSWORD_MIN ? words.tooShort(PASSWORD_MIN) : null,
    again: values.again === values.new ? null : t.notSame,
  };
  const submit = async (): Promise<void> => {
    setTried(true);
    if (errors.old || errors.new || errors.again) return;
    if (!(await action.run(() => call(postV1UsersUserPassword, { path: { user }, body: { old: values.old, new: values.new } })))) return;
    setValues(NOTHING);
    setTried(false);
    showToast({ kind: "done", text: t.changed });
  };
  const shown = (error: string | null): string | null => (isTried ? error : null);
  return (
    <form class="stack" noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
      <ActionError of={action} />
      <TextField label={t.old} type="password" autocomplete="current-password" value={values.old} onChange={(old) => set({ old })} error={shown(errors.old)} />
      <TextField label={t.new} type="password" autocomplete="new-password" value={values.new} onChange={(text) => set({ new: text })} help={t.passwordHelp(PASSWORD_MIN)} error={shown(errors.new)} />
      <TextField label={t.again} type="password" autocomplete="new-password" value={values.again} onChange={(again) => set({ again })} error={shown(errors.again)} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={action.isBusy}>
          {t.change}
        </Button>
      </div>
    </form>
  );
}
