// SPDX-License-Identifier: Apache-2.0
// Network decisions of all sandboxes of the project: hosts that rules refused or allowed, and a click that allows one.
import { useEffect } from "preact/hooks";
import { call } from "../../api/call";
import { getV1Events, type Event } from "../../api/generated";
import { AllowHost, isAllowable } from "../../objects/allow_host";
import { Forbidden } from "../../objects/forbidden";
import { DecisionWhy, targetText, whyOf } from "../../objects/decision_why";
import { ListTable } from "../../objects/list_table";
import { sandboxHref } from "../../objects/sandbox_actions";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { Segmented, TextField } from "../../parts/field";
import { Page } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { sandboxes } from "../../store/sandboxes";
import { missingScope, projectId } from "../../store/session";
import { network as t } from "../../text/en";
import "./network.css";

/** One read; the server gives 1,000 at most. */
const PAGE = 200;
const MOST = 1000;

interface Decision {
  sequence: number;
  at: string | null;
  sandbox: string;
  isDenied: boolean;
  target: string;
  port: number;
  protocol: string;
  code: string;
  rule: string | null;
  credential: string | null;
  count: number;
}

function decisionOf(e: Event): Decision {
  const detail = (typeof e.detail === "object" && e.detail !== null ? e.detail : {}) as Record<string, unknown>;
  const text = (name: string): string | null => (typeof detail[name] === "string" ? detail[name] : null);
  const whole = (name: string): number => (typeof detail[name] === "number" ? detail[name] : 0);
  return {
    sequence: e.sequence, at: e.at, sandbox: e.sandbox ?? "", isDenied: e.kind === "egress.denied", target: text("host") ?? text("address") ?? e.text,
    port: whole("port"), protocol: text("protocol") ?? "", code: e.reason ?? "", rule: text("rule"), credential: text("credential"), count: whole("count"),
  };
}

const isAllowed = (d: Decision): boolean => sandboxes.row(d.sandbox)?.value.egress?.allow?.includes(d.target) ?? false;

const COLUMNS: readonly Column<Decision>[] = [
  { id: "sequence", title: t.at, width: 100, isFixed: true, sort: (d) => d.sequence, cell: (d) => <Time at={d.at} /> },
  { id: "decision", title: t.decision, width: 100, phone: "side", sort: (d) => String(d.isDenied), cell: (d) => <StateChip state={d.isDenied ? "refused" : "ok"} /> },
  { id: "target", title: t.target, width: 180, grow: 2, isFixed: true, phone: "title", sort: (d) => d.target, cell: (d) => <span class="cut"><Safe text={targetText(d.target, d.port, d.protocol)} mono max={120} /></span> },
  { id: "protocol", title: t.protocol, width: 80, leaves: 2, sort: (d) => d.protocol, cell: (d) => <Safe text={d.protocol} /> },
  { id: "why", title: t.why, width: 190, grow: 1, leaves: 3, sort: (d) => d.code, cell: (d) => <DecisionWhy of={d} /> },
  { id: "credential", title: t.credential, width: 110, isOff: true, sort: (d) => d.credential, cell: (d) => <Safe text={d.credential} mono max={63} /> },
  { id: "sandbox", title: t.sandbox, width: 140, grow: 1, phone: "meta", sort: (d) => d.sandbox, cell: (d) => <a href={sandboxHref(d.sandbox, "network")}><Safe text={sandboxes.row(d.sandbox)?.value.name ?? d.sandbox} max={40} /></a> },
  { id: "count", title: t.times, width: 70, align: "end", leaves: 1, sort: (d) => d.count, cell: (d) => d.count },
];

/** Where all rows have one decision, a phone has the room for the host. */
const OF_ONE_KIND = COLUMNS.map((c) => (c.id === "decision" ? { ...c, phone: undefined } : c));

export default function NetworkPage() {
  const lacks = missingScope(getV1Events);
  return (
    <Page title={t.title} about={t.about} isFull>
      {lacks ? <Forbidden scope={lacks} /> : <Decisions />}
    </Page>
  );
}

function Decisions() {
  useEffect(() => sandboxes.ensure(), []);
  const chosen = queryOf("kind") in t.kinds ? queryOf("kind") : "denied";
  const kind = chosen === "all" ? "egress.*" : `egress.${chosen}`;
  const shown = Math.min(MOST, Math.max(PAGE, Math.floor(Number(queryOf("rows"))) || 0));
  const read = async (signal: AbortSignal): Promise<Decision[]> => (await call(getV1Events, { query: { last: shown, kind }, signal })).items.map(decisionOf);
  const resource = useResource(`network-${projectId.value}-${kind}-${shown}`, read, { kinds: ["egress.*"] });
  return (
    <>
      <div class="row network-filter">
        <Segmented label={t.decision} value={chosen} choices={Object.entries(t.kinds).map(([value, label]) => ({ value, label }))} onChange={(value) => setQuery({ kind: value === "denied" ? undefined : value }, false)} />
        <TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={queryOf("q")} onChange={(q) => setQuery({ q })} />
      </div>
      <Loaded of={resource} lines={8}>
        {(items) => (
          <>
            <DecisionTable items={items} columns={chosen === "all" ? COLUMNS : OF_ONE_KIND} />
            <More count={items.length} shown={shown} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Allow({ of }: { of: Decision }) {
  if (isAllowed(of)) return <span class="muted">{t.isAllowed}</span>;
  if (sandboxes.status.value === "ready" && !sandboxes.row(of.sandbox)) return <span class="muted">{t.isGone}</span>;
  return <AllowHost sandbox={of.sandbox} host={of.target} />;
}

/** Below the newest rows: a button for older ones, and what there is beyond the most that the server gives. */
function More({ count, shown }: { count: number; shown: number }) {
  if (count < shown) return null;
  return (
    <div class="row">
      {shown < MOST && (
        <Button icon="down" onClick={() => setQuery({ rows: String(Math.min(MOST, 2 * shown)) }, false)}>
          {t.more}
        </Button>
      )}
      <span class="meta">{shown < MOST ? t.newest(count) : t.most(count)}</span>
    </div>
  );
}

function DecisionTable({ items, columns }: { items: Decision[]; columns: readonly Column<Decision>[] }) {
  const text = queryOf("q").toLowerCase();
  return (
    <ListTable
      name="network"
      label={t.title}
      items={items}
      idOf={(d) => String(d.sequence)}
      columns={columns}
      nameOf={(d) => d.target}
      filter={(d) => !text || `${d.target} ${d.sandbox} ${sandboxes.row(d.sandbox)?.value.name ?? ""} ${d.code} ${whyOf(d)}`.toLowerCase().includes(text)}
      filterKey={text}
      sort="-sequence"
      actionsOf={(d) => d.isDenied && isAllowable(d.code) && <Allow of={d} />}
      actionsWidth={130}
      empty={items.length > 0 ? { icon: "search", title: t.noneFits, text: t.noneFitsText } : { icon: "globe", title: t.none, text: t.noneText }}
    />
  );
}
