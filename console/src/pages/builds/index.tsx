// SPDX-License-Identifier: Apache-2.0
// Builds of templates: all of the project, and each with its steps and its log.
import { useEffect, useState } from "preact/hooks";
import { postApiSandboxTemplatesBuilds, type Build } from "../../api/generated";
import { BuildDialog } from "../../objects/build_dialog";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { TextField } from "../../parts/field";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Table, type Column } from "../../parts/table";
import { Id, Safe, Time } from "../../parts/text";
import { at, go, href, queryOf, setQuery } from "../../router";
import type { PageProps } from "../../routes";
import { builds } from "../../store/lists";
import { missingScope } from "../../store/session";
import { builds as t, common as shared } from "../../text/en";
import { BuildPage } from "./build_page";
import { Took } from "./took";
import "./builds.css";

const buildHref = (build: Build): string => href(at`builds/${build.id}`);

const COLUMNS: readonly Column<Build>[] = [
  { id: "name", title: t.name, width: 170, grow: 2, isFixed: true, phone: "title", sort: (b) => b.name, cell: (b) => <a href={buildHref(b)}><Safe text={b.name} /></a> },
  { id: "status", title: t.status, width: 110, phone: "side", sort: (b) => b.status, cell: (b) => <StateChip state={b.status} note={b.message && showHidden(b.message, 200)} /> },
  { id: "steps", title: t.steps, width: 90, align: "end", cell: (b) => t.progress(b.step, b.step_count) },
  { id: "cached", title: t.cached, width: 80, align: "end", cell: (b) => b.cached_count },
  { id: "from", title: t.from, width: 120, grow: 1, sort: (b) => b.from, cell: (b) => <Safe text={b.from} /> },
  { id: "took", title: t.took, width: 100, align: "end", phone: "meta", cell: (b) => <Took build={b} /> },
  { id: "started", title: t.started, width: 110, phone: "meta", sort: (b) => b.created_at, cell: (b) => <Time at={b.started_at ?? b.created_at} /> },
  { id: "id", title: t.id, width: 130, isOff: true, cell: (b) => <Id id={b.id} /> },
];

export default function BuildsPage({ params }: PageProps) {
  const id = params["id"];
  return id ? <BuildPage key={id} id={id} /> : <BuildList />;
}

function BuildList() {
  useEffect(() => builds.ensure(), []);
  const [isOpen, setOpen] = useState(false);
  const scope = missingScope(postApiSandboxTemplatesBuilds);
  const why = scope && shared.missingScope(scope);
  useCommands([{ id: "builds.new", title: t.new, keys: "c", icon: "hammer", section: t.title, isOffered: () => !why, run: () => setOpen(true) }]);
  const q = queryOf("q");
  const error = builds.error.value;
  const isFirst = builds.status.value === "loading" && builds.ids.value.length === 0;
  const fits = (b: Build): boolean => [b.name, b.from, b.status, b.id].some((text) => text.toLowerCase().includes(q.toLowerCase()));
  const button = <Button kind="primary" icon="hammer" disabledBecause={why} onClick={() => setOpen(true)}>{t.new}</Button>;
  return (
    <Page title={t.title} about={t.about} actions={button} isFull>
      {error && <ErrorNote error={error} onRetry={() => void builds.load()} />}
      {(builds.ids.value.length > 0 || q) && <div class="search"><TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={q} onChange={(value) => setQuery({ q: value })} /></div>}
      {isFirst ? (
        <Skeleton lines={8} />
      ) : (
        <Table
          name="builds"
          label={t.title}
          source={builds}
          columns={COLUMNS}
          nameOf={(b) => b.name}
          filter={q ? fits : undefined}
          filterKey={q}
          sort={queryOf("sort") || "-started"}
          onSort={(sort) => setQuery({ sort })}
          onOpen={(b) => go(buildHref(b))}
          empty={q ? <Empty icon="search" title={t.noMatch} /> : !error && <Empty icon="hammer" title={t.none} action={button} command="atoll template build --name mine .">{t.noneText}</Empty>}
        />
      )}
      {isOpen && <BuildDialog onClose={() => setOpen(false)} />}
    </Page>
  );
}
