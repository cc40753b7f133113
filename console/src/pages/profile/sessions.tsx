// SPDX-License-Identifier: Apache-2.0
// sessions.tsx: the browsers that are signed in as the user.
import { call } from "../../api/call";
import { deleteV1SessionsSession, getV1Sessions, type LoginSessionSummary } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { Card } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { signOut } from "../../store/session";
import { profile as t } from "../../text/en";
import "./profile.css";

export function SessionsCard() {
  const resource = useResource("sessions", (signal) => call(getV1Sessions, { signal }), { onFocus: true });
  const action = useAction();
  const end = async (one: LoginSessionSummary): Promise<void> => {
    if (!(await ask({ title: t.endTitle, text: one.is_current ? t.endHere : t.endText, yes: t.end, isDangerous: true }))) return;
    if (one.is_current) return void signOut();
    await action.run(() => call(deleteV1SessionsSession, { path: { session: one.id } }));
    resource.reload();
  };
  return (
    <Card title={t.sessions}>
      <p class="muted">{t.sessionsHelp}</p>
      <ActionError of={action} />
      <Loaded of={resource}>
        {(list) => (
          <ul class="sessions">
            {list.items.map((one) => (
              <li key={one.id} class="row">
                <SessionText of={one} />
                <Button isSmall onClick={() => void end(one)}>
                  {t.end}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

function SessionText({ of }: { of: LoginSessionSummary }) {
  return (
    <span class="grow two-lines">
      <span class="row">
        <Safe text={of.user_agent} max={90} />
        {of.is_current && <Chip tone="good">{t.current}</Chip>}
      </span>
      <span class="meta">
        <Safe text={of.address} mono /> · {t.lastUsed} <Time at={of.last_used_at} />
      </span>
    </span>
  );
}
