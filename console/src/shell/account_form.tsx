// SPDX-License-Identifier: Apache-2.0
// account_form.tsx: the form of a new account: the first one by the set-up link, later ones by an invitation. The token stands behind
// "#", which no browser sends to a server, and leaves the address at once.
import { useEffect, useMemo, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../api/errors";
import { passwordChangeSchema } from "../api/schemas";
import { Button } from "../parts/button";
import { TextField } from "../parts/field";
import { Empty, ErrorNote } from "../parts/notice";
import { BASE, go } from "../router";
import { session, signIn, type SignIn } from "../store/session";
import { signIn as t } from "../text/en";
import { Alone } from "./alone";

const PASSWORD_MIN = passwordChangeSchema.new.minLength;

function takeToken(): string {
  const token = location.hash.slice(1);
  if (token) history.replaceState(history.state, "", location.pathname);
  return token;
}

interface AccountFormProps {
  title: string;
  about: string;
  button: string;
  hasEmail: boolean;
  signInOf: (token: string, values: { email: string; name: string; password: string }) => SignIn;
}

export function AccountForm({ title, about, button, hasEmail, signInOf }: AccountFormProps) {
  const token = useMemo(takeToken, []);
  const [values, setValues] = useState({ email: "", name: "", password: "" });
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<typeof values>): void => setValues((old) => ({ ...old, ...change }));
  useEffect(() => {
    if (session.value && !token) go(`${BASE}/`, true);
  }, [session.value]);
  if (!token) {
    return (
      <Alone title={title}>
        <Empty icon="link" title={t.noToken}>
          {t.noTokenText}
        </Empty>
      </Alone>
    );
  }
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await signIn(signInOf(token, values));
      go(`${BASE}/`, true);
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Alone title={title} about={about}>
      <form class="stack" onSubmit={(e) => (e.preventDefault(), void submit())}>
        {hasEmail && <TextField label={t.email} type="email" autocomplete="username" value={values.email} onChange={(email) => set({ email })} hasFocus />}
        <TextField label={t.name} autocomplete="name" value={values.name} onChange={(name) => set({ name })} hasFocus={!hasEmail} />
        <TextField label={t.password} type="password" autocomplete="new-password" value={values.password} onChange={(password) => set({ password })} help={t.passwordHelp(PASSWORD_MIN)} />
        {error && <ErrorNote error={error} />}
        <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={values.password.length < PASSWORD_MIN || (hasEmail && !values.email)}>
          {button}
        </Button>
      </form>
    </Alone>
  );
}
