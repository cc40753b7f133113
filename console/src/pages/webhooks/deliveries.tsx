// SPDX-License-Identifier: Apache-2.0
// deliveries.tsx: the events that a webhook sent or will send, newest first.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1WebhooksWebhookDeliveries, postV1WebhooksWebhookDeliveriesDeliveryRetry, postV1WebhooksWebhookDeliveriesRetry, type Delivery } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { CodeBlock } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { Segmented } from "../../parts/field";
import { formatCount } from "../../parts/format";
import { Card, Facts } from "../../parts/layout";
import { Loaded, Note } from "../../parts/notice";
import { showHidden, showHiddenLines } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { showToast } from "../../store/toasts";
import { webhooks as t } from "../../text/en";

const ROWS_MAX = 14;
const ERROR_MAX = 2000;
/** Deliveries read at once; the button reads as many again. */
const STEP = 200;
const MOST = 1000;

const COLUMNS: readonly Column<Delivery>[] = [
  { id: "kind", title: t.kind, width: 160, grow: 1, isFixed: true, phone: "title", sort: (d) => d.kind, cell: (d) => <Safe text={d.kind} mono /> },
  { id: "created", title: t.created, width: 110, phone: "meta", sort: (d) => d.sequence, cell: (d) => <Time at={d.created_at} /> },
  { id: "attempts", title: t.attempts, width: 80, align: "end", sort: (d) => d.attempts, cell: (d) => formatCount(d.attempts) },
  { id: "status", title: t.status, width: 70, align: "end", sort: (d) => d.status, cell: (d) => d.status || <Safe text="" /> },
  { id: "error", title: t.error, width: 160, grow: 2, cell: (d) => <Safe text={d.error} /> },
  { id: "next", title: t.next, width: 100, isOff: true, cell: (d) => <Time at={d.next_at} /> },
  { id: "state", title: t.state, width: 110, phone: "side", sort: (d) => d.state, cell: (d) => <StateChip state={d.state} note={d.error} /> },
];

export function Deliveries({ webhook, dead, onChange }: { webhook: string; dead: number; onChange: () => void }) {
  const state = queryOf("state");
  const [limit, setLimit] = useState(STEP);
  const read = (signal: AbortSignal) => call(getV1WebhooksWebhookDeliveries, { path: { webhook }, query: { state: state || undefined, limit }, signal });
  const resource = useResource(`deliveries-${webhook}-${state}-${limit}`, read, { kinds: ["*"], onFocus: true });
  const [opened, setOpened] = useState<Delivery | null>(null);
  const action = useAction();
  const retry = async (one: Delivery): Promise<void> => {
    const path = { webhook, delivery: one.id };
    if (await action.run(() => call(postV1WebhooksWebhookDeliveriesDeliveryRetry, { path }))) showToast({ kind: "done", text: t.retried });
    setOpened(null);
    resource.reload();
  };
  const retryAll = async (): Promise<void> => {
    const isDone = await action.run(async () => {
      const answer = await call(postV1WebhooksWebhookDeliveriesRetry, { path: { webhook } });
      showToast({ kind: "done", text: t.retriedAll(answer.retried, answer.dead) });
    });
    if (isDone) onChange();
    resource.reload();
  };
  const choices = [{ value: "", label: t.anyState }, ...Object.entries(t.states).map(([value, label]) => ({ value, label }))];
  const actions = (
    <>
      {dead > 0 && (
        <Button isSmall icon="reload" isBusy={action.isBusy} onClick={() => void retryAll()}>
          {t.retryAll(dead)}
        </Button>
      )}
      <Segmented label={t.state} value={state} onChange={(value) => setQuery({ state: value }, false)} choices={choices} />
    </>
  );
  return (
    <Card title={t.deliveries} actions={actions} isFlush>
      <ActionError of={action} />
      <Loaded of={resource} lines={6}>
        {(list) => (
          <>
            <DeliveryTable items={list.items} onOpen={setOpened} />
            {list.items.length >= limit && limit < MOST && (
              <Button kind="quiet" onClick={() => setLimit(limit + STEP)}>
                {t.older}
              </Button>
            )}
          </>
        )}
      </Loaded>
      {opened && <DeliverySheet of={opened} isBusy={action.isBusy} onClose={() => setOpened(null)} onRetry={() => void retry(opened)} />}
    </Card>
  );
}

function DeliveryTable({ items, onOpen }: { items: Delivery[]; onOpen: (one: Delivery) => void }) {
  return (
    <ListTable
      name="deliveries"
      label={t.deliveries}
      items={items}
      idOf={(d) => d.id}
      columns={COLUMNS}
      nameOf={(d) => d.kind}
      sort="-created"
      onOpen={onOpen}
      rowsMax={ROWS_MAX}
      empty={{ icon: "hook", title: t.noDeliveries, text: t.noDeliveriesText }}
    />
  );
}

function DeliverySheet({ of, isBusy, onClose, onRetry }: { of: Delivery; isBusy: boolean; onClose: () => void; onRetry: () => void }) {
  const retry = (
    <Button kind="primary" icon="reload" isBusy={isBusy} onClick={onRetry}>
      {t.retry}
    </Button>
  );
  return (
    <Dialog title={showHidden(of.kind)} kind="sheet" onClose={onClose} footer={of.state === "delivered" ? undefined : retry}>
      <div class="stack">
        {of.error && <Note tone="bad">{showHidden(of.error, ERROR_MAX)}</Note>}
        <Facts
          facts={[
            [t.state, <StateChip state={of.state} />],
            [t.attempts, formatCount(of.attempts)],
            [t.status, of.status || <Safe text="" />],
            [t.created, <Time at={of.created_at} />],
            [t.next, <Time at={of.next_at} />],
            [t.ended, <Time at={of.ended_at} />],
          ]}
        />
        <h3>{t.body}</h3>
        <CodeBlock text={showHiddenLines(JSON.stringify(of.event, null, 2))} label={t.body} />
      </div>
    </Dialog>
  );
}
