// SPDX-License-Identifier: Apache-2.0
// Sign-in by email and password, by an API key, or by the provider of the organisation.
import { useEffect, useState } from "preact/hooks";
import { ApiError, asApiError } from "../../api/errors";
import { Button, ButtonLink } from "../../parts/button";
import { CopyLine } from "../../parts/copy";
import { TextField } from "../../parts/field";
import { ErrorNote, Note } from "../../parts/notice";
import { useResource } from "../../store/resource";
import { session, signIn, signInWays, type SignIn } from "../../store/session";
import { BASE, go, queryOf, setQuery } from "../../router";
import { Alone } from "../../shell/alone";
import { signIn as t } from "../../text/en";

/** Back to where the user wanted to go: only an address of the console. */
function returnAddress(): string {
  const wanted = queryOf("return_to");
  return wanted.startsWith(`${BASE}/`) ? wanted : `${BASE}/`;
}

/** Single sign-on that fails comes back here with the kind of the error and the id of the request. */
function errorOfAddress(): ApiError | null {
  const code = queryOf("error");
  const request = queryOf("request");
  if (!code) return null;
  const text = Object.hasOwn(t.ssoErrors, code) ? t.ssoErrors[code] : undefined;
  const id = /^[\w-]{1,64}$/.test(request) ? request : null;
  return new ApiError(0, code, t.ssoFailed, text ?? t.ssoError, id);
}

export default function SignInPage() {
  const ways = useResource("ways", signInWays);
  const offered = ways.data.value;
  const [byKey, setByKey] = useState(false);
  useEffect(() => {
    if (session.value) go(returnAddress(), true);
  }, [session.value]);
  if (session.value) return null;
  const failed = errorOfAddress();
  const isKey = byKey || offered?.password === false;
  return (
    <Alone title={t.title} version={offered ? t.version(offered.version) : undefined}>
      {failed && <ErrorNote error={failed} onClose={() => setQuery({ error: undefined, request: undefined })} />}
      {offered?.setup && (
        <Note>
          <p>{t.needsSetup}</p>
          <CopyLine text={t.setupCommand} />
        </Note>
      )}
      {offered?.oidc && (
        <>
          <ButtonLink kind="primary" href={`/v1/sign-in/oidc?return_to=${encodeURIComponent(returnAddress())}`}>
            {t.with(offered.oidc.name)}
          </ButtonLink>
          <p class="or">{t.or}</p>
        </>
      )}
      {isKey ? <KeyForm key="key" /> : <PasswordForm key="password" />}
      {offered?.password !== false && (
        <Button kind="quiet" onClick={() => setByKey(!byKey)}>
          {byKey ? t.withPassword : t.withKey}
        </Button>
      )}
    </Alone>
  );
}

function useSignIn() {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (how: SignIn): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await signIn(how);
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, send };
}

function PasswordForm() {
  const { error, isBusy, send } = useSignIn();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  return (
    <form class="stack" onSubmit={(e) => (e.preventDefault(), void send({ email, password }))}>
      <TextField label={t.email} type="email" autocomplete="username" value={email} onChange={setEmail} hasFocus />
      <TextField label={t.password} type="password" autocomplete="current-password" value={password} onChange={setPassword} />
      {error && <ErrorNote error={error} />}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {t.signIn}
      </Button>
    </form>
  );
}

function KeyForm() {
  const { error, isBusy, send } = useSignIn();
  const [key, setKey] = useState("");
  return (
    <form class="stack" onSubmit={(e) => (e.preventDefault(), void send({ key: key.trim() }))}>
      <TextField label={t.key} type="password" isMono value={key} onChange={setKey} help={t.keyHelp} hasFocus />
      {error && <ErrorNote error={error} />}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {t.signIn}
      </Button>
    </form>
  );
}
