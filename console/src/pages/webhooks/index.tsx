// SPDX-License-Identifier: Apache-2.0
// Webhooks of the project; each has a page with its deliveries.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1Webhooks, postV1Webhooks, type Webhook, type WebhookCreate, type WebhookMade } from "../../api/generated";
import { Forbidden } from "../../objects/forbidden";
import { ListTable } from "../../objects/list_table";
import { ShownOnce } from "../../objects/shown_once";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { formatCount } from "../../parts/format";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { at, go, href } from "../../router";
import type { PageProps } from "../../routes";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { webhooks as t } from "../../text/en";
import { WebhookForm } from "./form";
import { OneWebhook } from "./one";

const COLUMNS: readonly Column<Webhook>[] = [
  { id: "url", title: t.url, width: 220, grow: 3, isFixed: true, phone: "title", sort: (w) => w.url, cell: (w) => <a href={href(at`webhooks/${w.id}`)}><Safe text={w.url} /></a> },
  { id: "events", title: t.events, width: 160, grow: 2, phone: "meta", cell: (w) => (w.events.length ? <Safe text={w.events.join(", ")} mono /> : t.all) },
  { id: "waiting", title: t.waiting, width: 90, align: "end", sort: (w) => w.waiting, cell: (w) => formatCount(w.waiting) },
  { id: "dead", title: t.dead, width: 90, align: "end", sort: (w) => w.dead, cell: (w) => <span class={w.dead > 0 ? "text-bad" : ""}>{formatCount(w.dead)}</span> },
  { id: "created", title: t.created, width: 110, isOff: true, sort: (w) => w.created_at, cell: (w) => <Time at={w.created_at} /> },
  { id: "state", title: t.state, width: 110, phone: "side", sort: (w) => String(w.enabled), cell: (w) => <StateChip state={w.enabled ? t.on : t.off} note={w.problem} /> },
];

export default function WebhooksPage({ params }: PageProps) {
  const lacks = missingScope(getV1Webhooks);
  if (lacks) {
    return (
      <Page title={t.title}>
        <Forbidden scope={lacks} />
      </Page>
    );
  }
  return params["id"] ? <OneWebhook key={params["id"]} id={params["id"]} /> : <Webhooks />;
}

function Webhooks() {
  const resource = useResource("webhooks", (signal) => call(getV1Webhooks, { signal }), { kinds: ["webhook.*"], onFocus: true });
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<WebhookMade | null>(null);
  useCommands([{ id: "webhooks.create", title: t.create, keys: "c", section: t.title, icon: "plus", run: () => setCreating(true) }]);
  const send = async (body: WebhookCreate): Promise<void> => {
    setMade(await call(postV1Webhooks, { body }));
    setCreating(false);
    resource.reload();
  };
  const button = (
    <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
      {t.create}
    </Button>
  );
  return (
    <Page title={t.title} about={t.about} actions={button} isFull>
      <Loaded of={resource} lines={5}>
        {(list) => (
          <ListTable
            name="webhooks"
            label={t.title}
            items={list.items}
            idOf={(w) => w.id}
            columns={COLUMNS}
            nameOf={(w) => w.url}
            sort="url"
            onOpen={(w) => go(href(at`webhooks/${w.id}`))}
            empty={{ icon: "hook", title: t.none, text: t.noneText, action: button, command: t.noneCommand }}
          />
        )}
      </Loaded>
      {isCreating && <WebhookForm onClose={() => setCreating(false)} send={send} />}
      {made && (
        <ShownOnce title={t.made} secret={made.secret} onDone={() => setMade(null)}>
          <p>{t.madeText}</p>
        </ShownOnce>
      )}
    </Page>
  );
}
