// SPDX-License-Identifier: Apache-2.0
// Audit: each write with its caller, what it changed and its result; filters, pages, an export, and how far the chain is signed.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1Audit, type AuditRow } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { Forbidden } from "../../objects/forbidden";
import { ListTable } from "../../objects/list_table";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { CheckField, SelectField, TextField } from "../../parts/field";
import { Page } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { hasScope, projectId } from "../../store/session";
import { showToast } from "../../store/toasts";
import { audit as t } from "../../text/en";
import "./audit.css";
import { readExport, saveFile } from "./export";
import { filterOf, TEXTS, TIMES, type Filter } from "./filter";
import { RowSheet } from "./row_sheet";
import { Verification } from "./verification";

const SCOPE = "project:write";
const PAGE = 100;

const COLUMNS: readonly Column<AuditRow>[] = [
  { id: "at", title: t.at, width: 100, isFixed: true, phone: "meta", cell: (r) => <Time at={r.at} /> },
  { id: "action", title: t.action, width: 170, grow: 2, isFixed: true, phone: "title", cell: (r) => <span class="cut"><Safe text={r.action} mono /></span> },
  { id: "user", title: t.caller, width: 120, grow: 1, cell: (r) => <span class="cut"><Safe text={r.user || r.key} mono max={40} /></span> },
  { id: "via", title: t.via, width: 80, leaves: 1, cell: (r) => <Safe text={r.via} /> },
  { id: "target", title: t.target, width: 150, grow: 1, cell: (r) => <span class="cut"><Safe text={r.target} mono /></span> },
  { id: "address", title: t.address, width: 130, leaves: 2, cell: (r) => <Safe text={r.address} mono /> },
  { id: "request", title: t.request, width: 130, isOff: true, cell: (r) => <Safe text={r.request_id} mono /> },
  { id: "sequence", title: t.sequence, width: 90, align: "end", isOff: true, cell: (r) => r.sequence },
  { id: "result", title: t.result, width: 110, phone: "side", cell: (r) => <StateChip state={r.result} note={r.status ? String(r.status) : null} /> },
];

export default function AuditPage() {
  return hasScope(SCOPE) || hasScope("admin") ? (
    <Audit />
  ) : (
    <Page title={t.title}>
      <Forbidden scope={SCOPE} />
    </Page>
  );
}

function Audit() {
  const filter = filterOf(t.results);
  const before = Number(queryOf("before")) || 0;
  const key = `audit-${projectId.value}-${JSON.stringify(filter)}-${before}`;
  const resource = useResource(key, (signal) => call(getV1Audit, { query: { ...filter, limit: PAGE, ...(before ? { before } : {}) }, signal }), { onFocus: true });
  return (
    <Page title={t.title} about={t.about} isFull actions={<Export filter={filter} />}>
      <div class="audit">
        <details class="audit-state">
          <summary>{t.verification}</summary>
          <Verification />
        </details>
        <Filters />
        <Loaded of={resource} lines={8}>
          {(list) => (
            <>
              <Rows items={list.items} isFiltered={Object.keys(filter).length > 0 || before > 0} />
              <Pages next={list.next} before={before} onReload={resource.reload} />
            </>
          )}
        </Loaded>
      </div>
    </Page>
  );
}

/** A change of the filter begins with the newest rows. */
const set = (name: string, value: string | undefined): void => setQuery({ [name]: value || undefined, before: undefined });

function Filters() {
  return (
    <div class="audit-filters">
      {TEXTS.map((name) => (
        <TextField key={name} label={t.filters[name]} isMono placeholder={name === "action" ? t.actionHelp : undefined} value={queryOf(name)} onChange={(value) => set(name, value)} />
      ))}
      <SelectField label={t.result} value={queryOf("result")} onChange={(value) => set("result", value)} choices={[{ value: "", label: t.any }, ...Object.entries(t.results).map(([value, label]) => ({ value, label }))]} />
      {TIMES.map((name) => (
        <TextField key={name} label={t.filters[name]} type="datetime-local" value={queryOf(name)} onChange={(value) => set(name, value)} />
      ))}
      {hasScope("admin") && <CheckField label={t.all} value={queryOf("all") === "1"} onChange={(on) => set("all", on ? "1" : undefined)} />}
    </div>
  );
}

function Rows({ items, isFiltered }: { items: AuditRow[]; isFiltered: boolean }) {
  const opened = items.find((r) => String(r.sequence) === queryOf("row"));
  const open = (r: AuditRow): void => setQuery({ row: String(r.sequence) }, false);
  return (
    <>
      <ListTable
        name="audit"
        label={t.title}
        items={items}
        idOf={(r) => String(r.sequence)}
        columns={COLUMNS}
        nameOf={(r) => r.action}
        onOpen={open}
        actionsOf={(r) => <Button isSmall kind="quiet" icon="right" label={t.open} onClick={() => open(r)} />}
        actionsWidth={44}
        empty={isFiltered ? { icon: "search", title: t.none, text: t.noneText } : { icon: "archive", title: t.noRow, text: t.noRowText }}
      />
      {opened && <RowSheet of={opened} onClose={() => setQuery({ row: undefined }, false)} />}
    </>
  );
}

function Pages({ next, before, onReload }: { next: number; before: number; onReload: () => void }) {
  return (
    <div class="row">
      <Button icon="reload" onClick={() => (before ? setQuery({ before: undefined }, false) : onReload())}>
        {t.newestRows}
      </Button>
      <Button icon="right" isDisabled={next === 0} onClick={() => setQuery({ before: String(next) }, false)}>
        {t.older}
      </Button>
      {before > 0 && <span class="meta">{t.beforeRow(before)}</span>}
    </div>
  );
}

function Export({ filter }: { filter: Filter }) {
  const action = useAction();
  const [isCut, setCut] = useState(false);
  const run = async (): Promise<void> => {
    const { parts, isCut: cut } = await readExport(filter);
    saveFile(parts, "audit.jsonl");
    setCut(cut);
    showToast({ kind: cut ? "error" : "done", text: cut ? t.exportCut : t.exported });
  };
  return (
    <>
      <ActionError of={action} />
      <Button icon="download" isBusy={action.isBusy} tip={isCut ? t.exportCut : undefined} onClick={() => void action.run(run)}>
        {t.export}
      </Button>
    </>
  );
}
