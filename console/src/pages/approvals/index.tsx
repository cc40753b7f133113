// SPDX-License-Identifier: Apache-2.0
// Approvals: the queue of calls that wait for a person, and those that were decided.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../../api/call";
import { getV1Approvals, type Approval } from "../../api/generated";
import { Forbidden } from "../../objects/forbidden";
import { StateChip } from "../../parts/chip";
import { Page, Tabs } from "../../parts/layout";
import { Empty, ErrorNote, Loaded, Skeleton } from "../../parts/notice";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { useItems, type RowSource } from "../../parts/view";
import { at, go, href, queryOf, setQuery } from "../../router";
import type { PageProps } from "../../routes";
import { approvals } from "../../store/lists";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { approvals as t } from "../../text/en";
import "./approvals.css";
import { Decision } from "./decision";
import { TimeLeft } from "./time_left";

const SHARED: readonly Column<Approval>[] = [
  { id: "tool", title: t.tool, width: 120, grow: 1, isFixed: true, phone: "title", sort: (a) => a.tool, cell: (a) => <Safe text={a.tool} mono /> },
  { id: "sandbox", title: t.sandbox, width: 120, grow: 1, sort: (a) => a.sandboxId, cell: (a) => <Safe text={a.sandboxId} mono max={40} /> },
  { id: "conversation", title: t.conversation, width: 130, grow: 1, isOff: true, sort: (a) => a.conversationId, cell: (a) => <Safe text={a.conversationId} /> },
];
const PENDING: readonly Column<Approval>[] = [
  ...SHARED,
  { id: "waiting", title: t.waiting, width: 100, phone: "meta", sort: (a) => a.createdAt, cell: (a) => <Time at={a.createdAt} /> },
  { id: "expires", title: t.expires, width: 110, phone: "side", sort: (a) => a.expiresAt, cell: (a) => <TimeLeft of={a} /> },
];
const DECIDED: readonly Column<Approval>[] = [
  ...SHARED,
  { id: "state", title: t.state, width: 100, phone: "side", sort: (a) => a.state, cell: (a) => <StateChip state={a.state} note={a.note} /> },
  { id: "by", title: t.decidedBy, width: 110, isOff: true, sort: (a) => a.decidedBy, cell: (a) => <Safe text={a.decidedBy} mono max={24} /> },
  { id: "decided", title: t.decided, width: 100, phone: "meta", sort: (a) => a.decidedAt, cell: (a) => <Time at={a.decidedAt} /> },
];

export default function ApprovalsPage({ params }: PageProps) {
  const lacks = missingScope(getV1Approvals);
  const tab = queryOf("tab") === "decided" ? "decided" : "pending";
  const count = approvals.ids.value.length;
  useEffect(() => (lacks ? undefined : approvals.ensure()), [lacks]);
  const tabs = ["pending", "decided"].map((id) => ({
    id, title: t.tabs[id] ?? id, href: href("approvals", { tab: id === "pending" ? undefined : id }), badge: id === "pending" && count > 0 ? count : null,
  }));
  return (
    <Page title={t.title} about={t.about} isFull>
      <Tabs label={t.tabsLabel} current={tab} tabs={tabs} />
      {lacks ? <Forbidden scope={lacks} /> : tab === "decided" ? <Decided id={params["id"]} /> : <Pending id={params["id"]} />}
    </Page>
  );
}

/** Without a chosen one, the call that waits longest is open. */
function Pending({ id }: { id: string | undefined }) {
  const error = approvals.error.value;
  const isLoading = approvals.status.value !== "ready" && approvals.ids.value.length === 0;
  const oldest = [...approvals.items].sort((a, b) => ((a.createdAt ?? "") < (b.createdAt ?? "") ? -1 : 1))[0];
  const open = id ?? oldest?.id;
  if (isLoading) return error ? <ErrorNote error={error} onRetry={() => void approvals.load()} /> : <Skeleton lines={6} />;
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void approvals.load()} />}
      <Split open={open} source={approvals} columns={PENDING} sort="waiting" empty={<Empty icon="check" title={t.none}>{t.noneText}</Empty>} />
    </>
  );
}

function Decided({ id }: { id: string | undefined }) {
  const read = async (signal: AbortSignal): Promise<Approval[]> => (await call(getV1Approvals, { query: { state: "any" }, signal })).items.filter((a) => a.state !== "pending");
  const resource = useResource("approvals-decided", read, { kinds: ["approval.*"], onFocus: true });
  return (
    <Loaded of={resource} lines={6}>
      {(items) => <DecidedList items={items} id={id} />}
    </Loaded>
  );
}

function DecidedList({ items, id }: { items: Approval[]; id: string | undefined }) {
  const source = useItems(items, (a) => a.id);
  return <Split open={id} source={source} columns={DECIDED} sort="-decided" empty={<Empty icon="check" title={t.noneDecided}>{t.noneDecidedText}</Empty>} />;
}

function Split(props: { open: string | undefined; source: RowSource<Approval>; columns: readonly Column<Approval>[]; sort: string; empty: ComponentChildren }) {
  const tab = queryOf("tab") || undefined;
  return (
    <div class={`approvals${props.open ? "" : " alone"}`}>
      <Table
        name={`approvals-${tab ?? "pending"}`}
        label={t.title}
        source={props.source}
        columns={props.columns}
        nameOf={(a) => a.tool}
        sort={queryOf("sort") || props.sort}
        onSort={(sort) => setQuery({ sort })}
        onOpen={(a) => go(href(at`approvals/${a.id}`, { tab }))}
        empty={props.empty}
      />
      {props.open && <Decision key={props.open} id={props.open} />}
    </div>
  );
}
