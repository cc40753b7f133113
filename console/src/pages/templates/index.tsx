// SPDX-License-Identifier: Apache-2.0
// Templates: the root filesystems of sandboxes, their defaults, and how they are made.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError } from "../../api/errors";
import { postApiSandboxTemplates, postApiSandboxTemplatesSeed, type Template } from "../../api/generated";
import { BuildDialog } from "../../objects/build_dialog";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/field";
import { formatBytes } from "../../parts/format";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import type { MenuItem } from "../../parts/menu";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { at, go, href, queryOf, setQuery } from "../../router";
import type { PageProps } from "../../routes";
import { pools, templates } from "../../store/lists";
import { missingScope } from "../../store/session";
import { showToast, toastError } from "../../store/toasts";
import { common as shared, templates as t } from "../../text/en";
import { askDeleteTemplate, whyNotDelete } from "./delete_template";
import { ImportDialog } from "./import_dialog";
import { TemplatePage } from "./template_page";
import { TemplateState } from "./template_state";
import "./templates.css";

type TemplateRow = Template & { sandboxes?: number };
const templateHref = (template: Template): string => href(at`templates/${template.id}`);

function PoolCell({ template }: { template: Template }) {
  const pool = pools.items.find((p) => p.template_id === template.id || p.template === template.name);
  return pool && pool.target > 0 ? <span data-tip={t.poolTip}>{`${pool.ready} / ${pool.target}`}</span> : <span class="muted">–</span>;
}

const COLUMNS: readonly Column<TemplateRow>[] = [
  { id: "name", title: t.name, width: 130, grow: 1, isFixed: true, phone: "title", sort: (x) => x.name, cell: (x) => <a href={templateHref(x)}><Safe text={x.name} /></a> },
  { id: "state", title: t.state, width: 120, phone: "side", sort: (x) => x.state, cell: (x) => <TemplateState template={x} /> },
  { id: "description", title: t.description, width: 200, grow: 5, cell: (x) => <span class="cut"><Safe text={x.description} max={160} /></span> },
  { id: "runtime", title: t.runtime, width: 100, sort: (x) => x.runtime, cell: (x) => <Safe text={x.runtime} max={40} /> },
  { id: "isolation", title: t.isolation, width: 100, isOff: true, sort: (x) => x.isolation, cell: (x) => <Safe text={x.isolation} max={40} /> },
  { id: "size", title: t.size, width: 90, align: "end", sort: (x) => x.size_bytes, cell: (x) => (x.size_bytes > 0 ? formatBytes(x.size_bytes) : "–") },
  { id: "uses", title: t.uses, width: 90, align: "end", sort: (x) => x.sandboxes, cell: (x) => x.sandboxes ?? "–" },
  { id: "pool", title: t.pool, width: 80, align: "end", cell: (x) => <PoolCell template={x} /> },
  { id: "updated", title: t.updated, width: 110, phone: "meta", sort: (x) => x.updated_at, cell: (x) => <Time at={x.updated_at} /> },
];

export default function TemplatesPage({ params }: PageProps) {
  const id = params["id"];
  return id ? <TemplatePage key={id} id={id} /> : <TemplateList />;
}

async function seed(): Promise<void> {
  try {
    const { added } = await call(postApiSandboxTemplatesSeed);
    templates.loadSoon();
    showToast({ kind: "done", text: t.seeded(added) });
  } catch (thrown) {
    toastError(asApiError(thrown));
  }
}

function TemplateList() {
  useEffect(() => (templates.ensure(), pools.ensure()), []);
  const [open, setOpen] = useState<{ kind: "build"; from: string } | { kind: "import" } | null>(queryOf("build") ? { kind: "build", from: queryOf("build") } : null);
  const scope = missingScope(postApiSandboxTemplates);
  const why = scope && shared.missingScope(scope);
  const build = (from = "base"): void => setOpen({ kind: "build", from });
  useCommands([
    { id: "templates.build", title: t.build, keys: "c", icon: "hammer", section: t.title, isOffered: () => !why, run: () => build() },
    { id: "templates.seed", title: t.seed, icon: "plus", section: t.title, isOffered: () => !why, run: () => void seed() },
  ]);
  const q = queryOf("q");
  const error = templates.error.value;
  const isFirst = templates.status.value === "loading" && templates.ids.value.length === 0;
  const fits = (x: TemplateRow): boolean => [x.name, x.description, x.runtime, x.base_image].some((text) => text.toLowerCase().includes(q.toLowerCase()));
  const menuOf = (x: TemplateRow): MenuItem[] => [
    { label: t.newSandbox, icon: "plus", href: href("sandboxes", { new: "1", template: x.name }) },
    { label: t.build, icon: "hammer", disabledBecause: why, run: () => build(x.name) },
    { label: t.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: whyNotDelete(x), run: () => void askDeleteTemplate(x) },
  ];
  const seedButton = <Button disabledBecause={why} onClick={() => void seed()}>{t.seed}</Button>;
  return (
    <Page
      title={t.title}
      about={t.about}
      isFull
      actions={
        <>
          {seedButton}
          <Button icon="upload" disabledBecause={why} onClick={() => setOpen({ kind: "import" })}>{t.import}</Button>
          <Button kind="primary" icon="hammer" disabledBecause={why} onClick={() => build()}>{t.build}</Button>
        </>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => void templates.load()} />}
      {templates.ids.value.length > 0 && <div class="search"><TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={q} onChange={(value) => setQuery({ q: value })} /></div>}
      {isFirst ? (
        <Skeleton lines={8} />
      ) : (
        <Table
          name="templates"
          label={t.title}
          source={templates}
          columns={COLUMNS}
          nameOf={(x) => x.name}
          filter={q ? fits : undefined}
          filterKey={q}
          sort={queryOf("sort") || "name"}
          onSort={(sort) => setQuery({ sort })}
          onOpen={(x) => go(templateHref(x))}
          menuOf={menuOf}
          empty={q ? <Empty icon="search" title={t.noMatch} /> : !error && <Empty icon="layers" title={t.none} action={seedButton} command="atoll template seed">{t.noneText}</Empty>}
        />
      )}
      {open?.kind === "build" && <BuildDialog from={open.from} onClose={() => setOpen(null)} />}
      {open?.kind === "import" && <ImportDialog onClose={() => setOpen(null)} />}
    </Page>
  );
}
