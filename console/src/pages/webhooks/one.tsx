// SPDX-License-Identifier: Apache-2.0
// one.tsx: one webhook: its state, a test event, its deliveries.
import { useState } from "preact/hooks";
import { call, fetchRaw } from "../../api/call";
import { deleteV1WebhooksWebhook, getV1WebhooksWebhook, patchV1WebhooksWebhook, type Webhook, type WebhookChange } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { useAction, type Action } from "../../objects/use_action";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { formatCount } from "../../parts/format";
import { Card, Facts, Page } from "../../parts/layout";
import { Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Safe, Time } from "../../parts/text";
import { go, href } from "../../router";
import { useResource } from "../../store/resource";
import { webhooks as t } from "../../text/en";
import { Deliveries } from "./deliveries";
import { WebhookForm } from "./form";

/** What the receiver of a test event answered. */
interface TestResult {
  ok: boolean;
  /** 0: no answer came. */
  status: number;
  duration_ms: number;
  error: string | null;
}

export function OneWebhook({ id }: { id: string }) {
  const resource = useResource(`webhook-${id}`, (signal) => call(getV1WebhooksWebhook, { path: { webhook: id }, signal }), { kinds: ["webhook.*"], onFocus: true });
  const action = useAction();
  const hook = resource.data.value;
  return (
    <Page title={t.title} heading={<Safe text={hook?.url ?? t.title} />} actions={hook && <Actions of={hook} action={action} onChange={resource.reload} />}>
      <ActionError of={action} />
      <Loaded of={resource}>
        {(webhook) => (
          <Card>
            {webhook.problem && <Note tone="bad">{showHidden(webhook.problem, 1000)}</Note>}
            <Facts
              facts={[
                [t.state, <StateChip state={webhook.enabled ? t.on : t.off} />],
                [t.events, webhook.events.length ? <Safe text={webhook.events.join(", ")} mono max={500} /> : t.all],
                [t.waiting, formatCount(webhook.waiting)],
                [t.dead, formatCount(webhook.dead)],
                [t.created, <Time at={webhook.created_at} />],
                [t.updated, <Time at={webhook.updated_at} />],
              ]}
            />
          </Card>
        )}
      </Loaded>
      <Deliveries webhook={id} dead={hook?.dead ?? 0} onChange={resource.reload} />
    </Page>
  );
}

function Actions({ of, action, onChange }: { of: Webhook; action: Action; onChange: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [tested, setTested] = useState<TestResult | null>(null);
  const change = async (body: WebhookChange): Promise<void> => {
    await call(patchV1WebhooksWebhook, { path: { webhook: of.id }, body });
    setEditing(false);
    onChange();
  };
  const test = (): Promise<boolean> =>
    action.run(async () => {
      const answer = await fetchRaw("POST", `/v1/webhooks/${encodeURIComponent(of.id)}/test`);
      setTested((await answer.json()) as TestResult);
      onChange();
    });
  const remove = async (): Promise<void> => {
    if (!(await ask({ title: t.deleteTitle, text: t.deleteText, yes: t.delete, isDangerous: true }))) return;
    if (await action.run(() => call(deleteV1WebhooksWebhook, { path: { webhook: of.id } }))) go(href("webhooks"), true);
  };
  return (
    <>
      {tested && <TestNote of={tested} />}
      <ButtonLink kind="quiet" icon="left" href={href("webhooks")}>
        {t.back}
      </ButtonLink>
      <Button icon="play" isBusy={action.isBusy} onClick={() => void test()}>
        {t.test}
      </Button>
      <Button icon="edit" onClick={() => setEditing(true)}>
        {t.edit}
      </Button>
      <Button icon={of.enabled ? "pause" : "play"} onClick={() => void action.run(() => change({ enabled: !of.enabled }))}>
        {of.enabled ? t.disable : t.enable}
      </Button>
      <Button icon="trash" label={t.delete} onClick={() => void remove()} />
      {isEditing && <WebhookForm of={of} onClose={() => setEditing(false)} send={change} />}
    </>
  );
}

function TestNote({ of }: { of: TestResult }) {
  return (
    <Note tone={of.ok ? "good" : "bad"}>
      {of.ok ? t.tested(of.status, of.duration_ms) : t.testFailed(showHidden(of.error ?? String(of.status), 500))}
    </Note>
  );
}
