// SPDX-License-Identifier: Apache-2.0
// form.tsx: the dialog that creates or changes a webhook.
import { useState } from "preact/hooks";
import type { Webhook, WebhookCreate } from "../../api/generated";
import { webhookCreateSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { TextField } from "../../parts/field";
import { common as words, webhooks as t } from "../../text/en";

export function WebhookForm({ of, onClose, send }: { of?: Webhook; onClose: () => void; send: (body: WebhookCreate) => Promise<unknown> }) {
  const [url, setUrl] = useState(of?.url ?? "");
  const [events, setEvents] = useState((of?.events ?? []).join("\n"));
  const [secret, setSecret] = useState("");
  const [isTried, setTried] = useState(false);
  const action = useAction();
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!url) return;
    await action.run(() => send({ url, events: events.split(/[\s,]+/).filter(Boolean), ...(secret ? { secret } : {}) }));
  };
  const foot = (
    <>
      <span class="grow" />
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button type="submit" kind="primary" isBusy={action.isBusy}>
        {of ? words.save : words.create}
      </Button>
    </>
  );
  return (
    <Dialog title={of ? t.edit : t.create} onClose={onClose} onSubmit={() => void submit()} footer={foot}>
      <div class="stack">
        <ActionError of={action} />
        <TextField label={t.url} help={t.urlHelp} type="url" placeholder="https://" value={url} onChange={setUrl} isRequired hasFocus maxLength={webhookCreateSchema.url.maxLength} error={isTried && !url ? words.required : null} />
        <TextField label={t.events} help={t.eventsHelp} value={events} onChange={setEvents} lines={4} isMono placeholder="sandbox.*" />
        {!of && <TextField label={t.secret} help={t.secretHelp} type="password" value={secret} onChange={setSecret} maxLength={webhookCreateSchema.secret.maxLength} />}
      </div>
    </Dialog>
  );
}
