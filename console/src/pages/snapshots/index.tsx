// SPDX-License-Identifier: Apache-2.0
// All snapshots of the project, also of sandboxes that are gone.
import { useEffect, useState } from "preact/hooks";
import { postApiSandboxSnapshotsImport } from "../../api/generated";
import { sandboxHref } from "../../objects/sandbox_actions";
import { SnapshotDialogs, snapshotMenu, type SnapshotRow } from "../../objects/snapshot_actions";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { TextField } from "../../parts/field";
import { formatBytes } from "../../parts/format";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { at, go, href, queryOf, setQuery } from "../../router";
import type { PageProps } from "../../routes";
import { snapshots } from "../../store/lists";
import { missingScope } from "../../store/session";
import { common as shared, snapshots as t } from "../../text/en";
import { ImportDialog } from "./import_dialog";
import { SnapshotPage } from "./snapshot_page";
import "./snapshots.css";

const COLUMNS: readonly Column<SnapshotRow>[] = [
  { id: "name", title: t.name, width: 180, grow: 2, isFixed: true, phone: "title", sort: (s) => s.name, cell: (s) => <a href={href(at`snapshots/${s.id}`)}><Safe text={s.name} /></a> },
  { id: "state", title: t.state, width: 110, phone: "side", sort: (s) => s.state, cell: (s) => <StateChip state={s.state} /> },
  { id: "sandbox", title: t.sandbox, width: 150, grow: 1, phone: "meta", sort: (s) => s.sandbox_name, cell: (s) => <a class="cut" href={sandboxHref(s.sandbox)}><Safe text={s.sandbox_name} /></a> },
  { id: "template", title: t.template, width: 120, sort: (s) => s.template, cell: (s) => <Safe text={s.template} /> },
  { id: "depth", title: t.depth, width: 80, align: "end", sort: (s) => s.depth, cell: (s) => s.depth },
  { id: "size", title: t.size, width: 100, align: "end", sort: (s) => s.size_bytes, cell: (s) => formatBytes(s.size_bytes) },
  { id: "uses", title: t.uses, width: 110, align: "end", isOff: true, sort: (s) => s.sandboxes, cell: (s) => s.sandboxes ?? "–" },
  { id: "backup", title: t.backup, width: 110, sort: (s) => (s.backup ? 1 : 0), cell: (s) => <Export snapshot={s} /> },
  { id: "created", title: t.created, width: 110, phone: "meta", sort: (s) => s.created_at, cell: (s) => <Time at={s.created_at} /> },
];

function Export({ snapshot }: { snapshot: SnapshotRow }) {
  const newest = snapshot.backups.at(-1);
  return newest ? <StateChip state={newest.state} /> : <span class="muted">–</span>;
}

export default function SnapshotsPage({ params }: PageProps) {
  const id = params["id"];
  return id ? <SnapshotPage key={id} id={id} /> : <SnapshotList />;
}

function SnapshotList() {
  useEffect(() => snapshots.ensure(), []);
  const [isImporting, setImporting] = useState(false);
  const scope = missingScope(postApiSandboxSnapshotsImport);
  const q = queryOf("q");
  const error = snapshots.error.value;
  const isFirst = snapshots.status.value === "loading" && snapshots.ids.value.length === 0;
  const openImport = (): void => setImporting(true);
  useCommands([{ id: "snapshots.import", title: t.import, icon: "upload", section: t.title, isOffered: () => scope === null, run: openImport }]);
  const fits = (s: SnapshotRow): boolean => [s.name, s.sandbox_name, s.template].some((text) => text.toLowerCase().includes(q.toLowerCase()));
  const button = <Button icon="upload" disabledBecause={scope && shared.missingScope(scope)} onClick={openImport}>{t.import}</Button>;
  return (
    <Page title={t.title} about={t.about} actions={button} isFull>
      {error && <ErrorNote error={error} onRetry={() => void snapshots.load()} />}
      {snapshots.ids.value.length > 0 && <div class="search"><TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={q} onChange={(value) => setQuery({ q: value })} /></div>}
      {isFirst ? (
        <Skeleton lines={8} />
      ) : (
        <Table
          name="snapshots"
          label={t.title}
          source={snapshots}
          columns={COLUMNS}
          nameOf={(s) => s.name}
          filter={q ? fits : undefined}
          filterKey={q}
          sort={queryOf("sort") || "-created"}
          onSort={(sort) => setQuery({ sort })}
          onOpen={(s) => go(href(at`snapshots/${s.id}`))}
          menuOf={snapshotMenu}
          empty={q ? <Empty icon="search" title={t.noMatch} /> : !error && <Empty icon="camera" title={t.none} command="atoll snapshot create SANDBOX">{t.noneText}</Empty>}
        />
      )}
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
      <SnapshotDialogs />
    </Page>
  );
}
