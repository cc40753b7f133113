// SPDX-License-Identifier: Apache-2.0
// login.tsx: a login that has begun: the page to open or the code to type, and what came of it.
import { call } from "../../api/call";
import { getV1ConnectsConnect, type Connect } from "../../api/generated";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { CopyLine } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { Facts } from "../../parts/layout";
import { ErrorNote, Note } from "../../parts/notice";
import { safeLink, showHidden } from "../../parts/safe";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { common as words, credentials as t } from "../../text/en";

/** `begun` has the address and the code: the server tells them once. */
export function Login({ begun, onClose }: { begun: Connect; onClose: () => void }) {
  const resource = useResource(`connect-${begun.id}`, (signal) => call(getV1ConnectsConnect, { path: { connect: begun.id }, signal }), { kinds: ["credential.*"], onFocus: true });
  const now = resource.data.value ?? begun;
  const error = resource.error.value;
  const isWaiting = now.state === "pending" || now.state === "exchanging";
  const foot = (
    <>
      {isWaiting && (
        <Button icon="reload" isBusy={resource.isLoading.value} onClick={resource.reload}>
          {t.readAgain}
        </Button>
      )}
      <span class="grow" />
      <Button kind={isWaiting ? "normal" : "primary"} onClick={onClose}>
        {words.close}
      </Button>
    </>
  );
  return (
    <Dialog title={t.loginTitle(showHidden(begun.name))} onClose={onClose} footer={foot}>
      <div class="stack">
        {error && <ErrorNote error={error} onRetry={resource.reload} />}
        {isWaiting && <Steps of={begun} />}
        {now.problem && <Note tone="bad">{showHidden(now.problem, 500)}</Note>}
        {now.state === "done" && <Note tone="good">{t.loginDone(showHidden(begun.name))}</Note>}
        <Facts
          facts={[
            [t.state, <StateChip state={t.connectStates[now.state] ?? now.state} />],
            isWaiting && [t.expires, <Time at={now.expires_at} />],
            now.scopes !== "" && [t.scopes, <Safe text={now.scopes} mono max={300} />],
            now.renews_at !== null && [t.renews, <Time at={now.renews_at} />],
          ]}
        />
      </div>
    </Dialog>
  );
}

function Steps({ of }: { of: Connect }) {
  const address = safeLink(of.url ?? of.verification_uri_complete ?? of.verification_uri ?? "");
  return (
    <>
      {of.user_code && (
        <>
          <p>{t.typeCode}</p>
          <CopyLine text={showHidden(of.user_code, 64)} />
          {of.verification_uri && <p class="mono"><Safe text={of.verification_uri} max={300} /></p>}
        </>
      )}
      {address && (
        <div class="row">
          <ButtonLink kind="primary" icon="open" href={address} isNewTab>
            {t.openLogin}
          </ButtonLink>
        </div>
      )}
      <p class="meta">{t.comeBack}</p>
    </>
  );
}
