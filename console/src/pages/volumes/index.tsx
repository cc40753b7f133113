// SPDX-License-Identifier: Apache-2.0
// Volumes: storage that outlives sandboxes, and their files.
import { useEffect, useState } from "preact/hooks";
import type { Volume } from "../../api/generated";
import { sandboxHref } from "../../objects/sandbox_actions";
import { askDeleteVolume, AttachVolumeDialog, CreateVolumeDialog, GrowVolumeDialog, volumeForbids } from "../../objects/volume_actions";
import { Button } from "../../parts/button";
import { Chip, Meter, StateChip } from "../../parts/chip";
import { TextField } from "../../parts/field";
import { formatBytes, formatMib } from "../../parts/format";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import type { MenuItem } from "../../parts/menu";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { at, go, href, queryOf, setQuery } from "../../router";
import type { PageProps } from "../../routes";
import { volumes } from "../../store/lists";
import { volumes as t } from "../../text/en";
import { VolumePage } from "./volume_page";
import "./volumes.css";

/** Newer servers say in the list how much is used. */
type VolumeRow = Volume & { used_bytes?: number };
const volumeHref = (volume: Volume): string => href(at`volumes/${volume.id}`);

function Holders({ volume }: { volume: Volume }) {
  const [first, ...rest] = volume.attachments;
  if (!first) return <span class="muted">{t.attachedNone}</span>;
  return (
    <span class="cut">
      <a href={sandboxHref(first.sandbox_id)}><Safe text={first.sandbox} max={40} /></a> {rest.length > 0 && <span class="muted">{t.more(rest.length)}</span>}
    </span>
  );
}

function Size({ volume }: { volume: VolumeRow }) {
  const limit = volume.size_mb > 0 ? formatMib(volume.size_mb) : t.noLimit;
  if (volume.used_bytes === undefined) return <>{limit}</>;
  return <Meter used={volume.used_bytes} limit={volume.size_mb * 1024 * 1024} text={`${formatBytes(volume.used_bytes)} / ${limit}`} label={volume.size_advisory ? t.advisory : t.used} />;
}

function Name({ volume }: { volume: Volume }) {
  return (
    <span class="cut">
      <a href={volumeHref(volume)}><Safe text={volume.workspace ?? volume.name} /></a> {volume.workspace && <Chip tip={t.workspaceTip}>{t.workspace}</Chip>}
    </span>
  );
}

const COLUMNS: readonly Column<VolumeRow>[] = [
  { id: "name", title: t.name, width: 180, grow: 2, isFixed: true, phone: "title", sort: (v) => v.name, cell: (v) => <Name volume={v} /> },
  { id: "state", title: t.state, width: 110, phone: "side", sort: (v) => v.state, cell: (v) => <StateChip state={v.state} /> },
  { id: "size", title: t.size, width: 170, phone: "meta", sort: (v) => v.size_mb, cell: (v) => <Size volume={v} /> },
  { id: "attached", title: t.attached, width: 170, grow: 1, sort: (v) => v.attachments[0]?.sandbox, cell: (v) => <Holders volume={v} /> },
  { id: "provider", title: t.provider, width: 100, sort: (v) => v.provider, cell: (v) => <Safe text={v.provider} /> },
  { id: "created", title: t.created, width: 110, isOff: true, sort: (v) => v.created_at, cell: (v) => <Time at={v.created_at} /> },
  { id: "updated", title: t.updated, width: 110, phone: "meta", sort: (v) => v.updated_at, cell: (v) => <Time at={v.updated_at} /> },
];

export default function VolumesPage({ params }: PageProps) {
  const id = params["id"];
  return id ? <VolumePage key={id} id={id} rest={params["rest"] ?? ""} /> : <VolumeList />;
}

type Open = { kind: "create" } | { kind: "grow" | "attach"; volume: Volume };

function menuOf(volume: Volume, open: (what: Open) => void): MenuItem[] {
  const why = volumeForbids();
  const holder = volume.attachments[0];
  return [
    { label: t.attach, icon: "plus", disabledBecause: why, run: () => open({ kind: "attach", volume }) },
    { label: t.grow, icon: "up", disabledBecause: why, run: () => open({ kind: "grow", volume }) },
    { label: t.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: why ?? (holder ? t.heldBy(showHidden(holder.sandbox, 60)) : null), run: () => void askDeleteVolume(volume) },
  ];
}

function VolumeList() {
  useEffect(() => volumes.ensure(), []);
  const [open, setOpen] = useState<Open | null>(queryOf("new") ? { kind: "create" } : null);
  const q = queryOf("q");
  const why = volumeForbids();
  const create = (): void => setOpen({ kind: "create" });
  useCommands([{ id: "volumes.new", title: t.new, keys: "c", icon: "plus", section: t.title, isOffered: () => !why, run: create }]);
  const error = volumes.error.value;
  const isFirst = volumes.status.value === "loading" && volumes.ids.value.length === 0;
  const button = <Button kind="primary" icon="plus" disabledBecause={why} onClick={create}>{t.new}</Button>;
  return (
    <Page title={t.title} about={t.about} actions={button} isFull>
      {error && <ErrorNote error={error} onRetry={() => void volumes.load()} />}
      {volumes.ids.value.length > 0 && <div class="search"><TextField label={t.search} isLabelHidden type="search" placeholder={t.search} value={q} onChange={(value) => setQuery({ q: value })} /></div>}
      {isFirst ? (
        <Skeleton lines={8} />
      ) : (
        <Table
          name="volumes"
          label={t.title}
          source={volumes}
          columns={COLUMNS}
          nameOf={(v) => v.name}
          filter={q ? (v) => v.name.toLowerCase().includes(q.toLowerCase()) : undefined}
          filterKey={q}
          sort={queryOf("sort") || "name"}
          onSort={(sort) => setQuery({ sort })}
          onOpen={(v) => go(volumeHref(v))}
          menuOf={(v) => menuOf(v, setOpen)}
          empty={q ? <Empty icon="search" title={t.noMatch} /> : !error && <Empty icon="disk" title={t.none} action={button} command="atoll volume create data">{t.noneText}</Empty>}
        />
      )}
      {open?.kind === "create" && <CreateVolumeDialog onClose={() => setOpen(null)} />}
      {open?.kind === "grow" && <GrowVolumeDialog volume={open.volume} onClose={() => setOpen(null)} />}
      {open?.kind === "attach" && <AttachVolumeDialog volume={open.volume} onClose={() => setOpen(null)} />}
    </Page>
  );
}
