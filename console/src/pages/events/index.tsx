// SPDX-License-Identifier: Apache-2.0
// Events of the project: a live tail with filters, that can be paused.
import { getV1Events, type Event } from "../../api/generated";
import { Forbidden } from "../../objects/forbidden";
import { Button } from "../../parts/button";
import { CodeBlock, CopyButton } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { TextField } from "../../parts/field";
import { useCommands } from "../../parts/keys";
import { Facts, Page } from "../../parts/layout";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { showHidden, showHiddenLines } from "../../parts/safe";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { sandboxHref } from "../../objects/sandbox_actions";
import { queryOf, setQuery } from "../../router";
import { missingScope } from "../../store/session";
import { events as t } from "../../text/en";
import { downloadCsv } from "./csv";
import "./events.css";
import { useTail } from "./tail";

const TEXT_MAX = 2000;
const COLUMNS: readonly Column<Event>[] = [
  { id: "sequence", title: t.at, width: 110, isFixed: true, phone: "side", sort: (e) => e.sequence, cell: (e) => <Time at={e.at} /> },
  { id: "kind", title: t.kind, width: 170, phone: "title", sort: (e) => e.kind, cell: (e) => <Safe text={e.kind} mono /> },
  { id: "text", title: t.text, width: 260, grow: 3, phone: "meta", cell: (e) => <Safe text={e.text} /> },
  { id: "sandbox", title: t.sandbox, width: 140, grow: 1, sort: (e) => e.sandbox, cell: (e) => (e.sandbox ? <a href={sandboxHref(e.sandbox)}><Safe text={e.sandbox} mono max={40} /></a> : <Safe text="" />) },
  { id: "reason", title: t.reason, width: 120, isOff: true, sort: (e) => e.reason, cell: (e) => <Safe text={e.reason} /> },
];

export default function EventsPage() {
  const lacks = missingScope(getV1Events);
  return lacks ? (
    <Page title={t.title}>
      <Forbidden scope={lacks} />
    </Page>
  ) : (
    <Events />
  );
}

function matches(e: Event, text: string): boolean {
  return !text || `${e.kind} ${e.text} ${e.sandbox ?? ""} ${e.reason ?? ""} ${JSON.stringify(e.detail ?? "")}`.toLowerCase().includes(text);
}

function Events() {
  const kind = queryOf("kind");
  const sandbox = queryOf("sandbox");
  const text = queryOf("q").toLowerCase();
  const tail = useTail(kind, sandbox);
  const isPaused = tail.isPaused.value;
  const toggle = (): void => tail.pause(!isPaused);
  useCommands([{ id: "events.pause", title: isPaused ? t.resume : t.pause, keys: "p", section: t.title, icon: isPaused ? "play" : "pause", run: toggle }]);
  const error = tail.error.value;
  const ids = tail.source.ids.value;
  const opened = tail.source.row(queryOf("event"))?.value;
  return (
    <Page title={t.title} about={t.about} isFull actions={<Actions isPaused={isPaused} waiting={tail.waiting.value} toggle={toggle} events={() => tail.items().filter((e) => matches(e, text))} />}>
      <div class="event-filters">
        <TextField label={t.search} type="search" value={queryOf("q")} onChange={(q) => setQuery({ q })} />
        <TextField label={t.kind} isMono placeholder={t.kindHelp} value={kind} onChange={(value) => setQuery({ kind: value })} list={tail.kinds()} />
        <TextField label={t.sandbox} isMono value={sandbox} onChange={(value) => setQuery({ sandbox: value })} />
      </div>
      {error && <ErrorNote error={error} onRetry={tail.load} />}
      {tail.isLoading.value && ids.length === 0 ? (
        <Skeleton lines={10} />
      ) : (
        <Table
          name="events"
          label={t.title}
          source={tail.source}
          columns={COLUMNS}
          nameOf={(e) => e.kind}
          filter={(e) => matches(e, text)}
          filterKey={text}
          sort={queryOf("sort") || "-sequence"}
          onSort={(sort) => setQuery({ sort })}
          onOpen={(e) => setQuery({ event: String(e.sequence) }, false)}
          empty={
            <Empty icon="pulse" title={t.none}>
              {t.noneText}
            </Empty>
          }
        />
      )}
      {opened && <EventSheet of={opened} />}
    </Page>
  );
}

function Actions({ isPaused, waiting, toggle, events }: { isPaused: boolean; waiting: number; toggle: () => void; events: () => Event[] }) {
  return (
    <>
      {isPaused && (
        <span class="muted" role="status">
          {t.paused(waiting)}
        </span>
      )}
      <Button icon={isPaused ? "play" : "pause"} isPressed={isPaused} onClick={toggle}>
        {isPaused ? t.resume : t.pause}
      </Button>
      <Button icon="download" onClick={() => downloadCsv(events())}>
        {t.export}
      </Button>
    </>
  );
}

function EventSheet({ of }: { of: Event }) {
  return (
    <Dialog title={showHidden(of.kind)} kind="sheet" onClose={() => setQuery({ event: undefined })}>
      <div class="stack">
        <p>
          <Safe text={of.text} max={TEXT_MAX} />
        </p>
        <Facts
          facts={[
            [t.at, <Time at={of.at} />],
            [t.sequence, <span class="mono">{of.sequence}</span>],
            of.sandbox !== null && [t.sandbox, <a href={sandboxHref(of.sandbox)}><Safe text={of.sandbox} mono max={60} /></a>],
            [t.reason, <Safe text={of.reason} />],
          ]}
        />
        <div class="row">
          <h3 class="grow">{t.raw}</h3>
          <CopyButton text={() => location.href} label={t.copyLink} />
        </div>
        <CodeBlock text={showHiddenLines(JSON.stringify(of, null, 2))} label={t.raw} />
      </div>
    </Dialog>
  );
}
