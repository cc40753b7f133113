// SPDX-License-Identifier: Apache-2.0
// snapshot_page.tsx: one snapshot: facts, what lies below it, its exports, what it changed.
import { call, linkOf } from "../../api/call";
import { getApiSandboxBackupsIdContent, getApiSandboxSnapshotsId, type Snapshot } from "../../api/generated";
import { ChangeList } from "../../objects/change_list";
import { sandboxHref } from "../../objects/sandbox_actions";
import { openSnapshotDialog, SnapshotDialogs, snapshotMenu, type SnapshotRow } from "../../objects/snapshot_actions";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { formatBytes, formatDuration } from "../../parts/format";
import { Card, Facts, Page } from "../../parts/layout";
import { MenuButton } from "../../parts/menu";
import { Empty, Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Id, Safe, Time } from "../../parts/text";
import { at, href, queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { common as shared, snapshots as t } from "../../text/en";

export function SnapshotPage({ id }: { id: string }) {
  const snapshot = useResource<SnapshotRow>(`snapshot ${id}`, (signal) => call(getApiSandboxSnapshotsId, { path: { id }, signal }), { kinds: ["snapshot.*", "backup.*"] });
  const data = snapshot.data.value;
  if (snapshot.error.value?.status === 404) {
    return (
      <Page title={t.notFound}>
        <Empty icon="camera" title={t.notFound} action={<ButtonLink href={href("snapshots")}>{t.title}</ButtonLink>}>{t.notFoundText}</Empty>
      </Page>
    );
  }
  const name = data ? showHidden(data.name, 80) : t.title;
  const actions = data && (
    <>
      {data.state === "ready" && <Button kind="primary" icon="plus" onClick={() => openSnapshotDialog("new", data)}>{t.restoreNew}</Button>}
      <MenuButton label={shared.table.rowMenu(name)} items={() => snapshotMenu(data)} />
    </>
  );
  return (
    <Page title={name} actions={actions}>
      <Loaded of={snapshot} lines={6}>
        {(found) => (
          <>
            <Card><SnapshotFacts snapshot={found} /></Card>
            <div class="columns">
              <Lineage snapshot={found} />
              <Exports snapshot={found} />
            </div>
            {found.state === "ready" && (
              <Card title={t.changes} actions={queryOf("changes") === "" && <Button isSmall onClick={() => setQuery({ changes: "1" }, false)}>{t.show}</Button>}>
                {queryOf("changes") !== "" ? <ChangeList of="snapshot" id={found.id} /> : <p class="muted">{t.changesText(found.lineage?.[0]?.name ? showHidden(found.lineage[0].name, 60) : showHidden(found.template, 60))}</p>}
              </Card>
            )}
          </>
        )}
      </Loaded>
      <SnapshotDialogs />
    </Page>
  );
}

function SnapshotFacts({ snapshot }: { snapshot: SnapshotRow }) {
  return (
    <Facts
      facts={[
        [t.state, <StateChip state={snapshot.state} />],
        [t.sandbox, <a href={sandboxHref(snapshot.sandbox, "snapshots")}><Safe text={snapshot.sandbox_name} max={60} /></a>],
        [t.template, <Safe text={snapshot.template} />],
        [t.created, <Time at={snapshot.created_at} />],
        [t.depth, String(snapshot.depth)],
        snapshot.size_bytes !== undefined && [t.size, formatBytes(snapshot.size_bytes)],
        snapshot.sandboxes !== undefined && [t.uses, t.usesText(snapshot.sandboxes)],
        [t.frozen, formatDuration(snapshot.frozen_ms)],
        [t.method, <span data-tip={snapshot.because ? showHidden(snapshot.because, 200) : undefined}>{showHidden(snapshot.method, 30)}</span>],
        ["Id", <Id id={snapshot.id} max={20} />],
      ]}
    />
  );
}

function Lineage({ snapshot }: { snapshot: Snapshot }) {
  return (
    <Card title={t.lineage}>
      <p class="meta">{t.lineageText}</p>
      <ol class="stack">
        {(snapshot.lineage ?? []).map((step) => (
          <li key={`${step.kind} ${step.id}`} class="row tight">
            <a href={href(step.kind === "snapshot" ? at`snapshots/${step.id}` : at`templates/${step.id}`)}>{step.name === null ? t.gone : <Safe text={step.name} max={60} />}</a>
            {step.sandbox_name && <span class="meta"><Safe text={step.sandbox_name} max={40} /></span>}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Exports({ snapshot }: { snapshot: Snapshot }) {
  return (
    <Card title={t.exports} actions={snapshot.state === "ready" && <Button isSmall icon="archive" onClick={() => openSnapshotDialog("export", snapshot)}>{t.export}</Button>}>
      {snapshot.backups.length === 0 && <p class="muted">{t.noExports}</p>}
      {snapshot.backups.map((backup) => (
        <div class="row" key={backup.id}>
          <span class="grow"><Safe text={backup.name} max={60} /></span>
          <StateChip state={backup.state} />
          {backup.state === "ready" && <ButtonLink isSmall icon="download" download label={t.download} href={linkOf(getApiSandboxBackupsIdContent.path, { id: backup.id })} />}
        </div>
      ))}
    </Card>
  );
}
