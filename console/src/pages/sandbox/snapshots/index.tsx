// SPDX-License-Identifier: Apache-2.0
// The snapshots of a sandbox as a tree of lineage; take, restore, fork, export, and what changed since one of them.
import { useEffect, useState } from "preact/hooks";
import { postApiSandboxInstancesIdFork, postApiSandboxInstancesIdSnapshot } from "../../../api/generated";
import { forkSchema, snapshotCreateSchema } from "../../../api/schemas";
import { ChangeList } from "../../../objects/change_list";
import { FormDialog } from "../../../objects/form_dialog";
import { sandboxHref } from "../../../objects/sandbox_actions";
import { SnapshotDialogs, snapshotMenu, type SnapshotRow } from "../../../objects/snapshot_actions";
import { Button, ButtonLink } from "../../../parts/button";
import { StateChip } from "../../../parts/chip";
import { formatBytes, formatDuration } from "../../../parts/format";
import { Card, Facts } from "../../../parts/layout";
import { MenuButton } from "../../../parts/menu";
import { Empty, ErrorNote, Skeleton } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Safe, Time } from "../../../parts/text";
import { Tree, type TreeNode } from "../../../parts/tree";
import { at, go, href, queryOf, setQuery } from "../../../router";
import { snapshots } from "../../../store/lists";
import { forkSandbox, snapshotSandbox } from "../../../store/sandbox_calls";
import { canTake, type Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandbox as words, sandboxSnapshots as t, snapshots as names } from "../../../text/en";
import type { TabProps } from "../tab";
import { lineageTree, type LineageNode } from "./tree";
import "./snapshots.css";

const NOW = "now";

export default function SnapshotsTab({ sandbox }: TabProps) {
  useEffect(() => snapshots.ensure(), []);
  const [open, setOpen] = useState<"take" | "fork" | null>(null);
  const error = snapshots.error.value;
  const status = snapshots.status.value;
  const items: SnapshotRow[] = snapshots.items;
  const roots = lineageTree(items, sandbox.id, sandbox.lineage ?? []);
  const chosen = items.find((s) => s.id === queryOf("snapshot"));
  const why = (operation: { scopes: readonly string[] }, action: "snapshot" | "fork"): string | null => {
    const scope = missingScope(operation);
    return scope ? shared.missingScope(scope) : canTake(sandbox, action) ? null : words.cannot(words.actions[action], sandbox.state);
  };
  return (
    <div class="stack snapshots-tab">
      {error && <ErrorNote error={error} onRetry={() => void snapshots.load()} />}
      <div class="split">
        <Card
          title={t.title}
          actions={
            <>
              <Button isSmall icon="fork" disabledBecause={why(postApiSandboxInstancesIdFork, "fork")} onClick={() => setOpen("fork")}>{t.fork}</Button>
              <Button isSmall kind="primary" icon="camera" disabledBecause={why(postApiSandboxInstancesIdSnapshot, "snapshot")} onClick={() => setOpen("take")}>{t.take}</Button>
            </>
          }
        >
          {status === "loading" && items.length === 0 ? (
            <Skeleton lines={4} />
          ) : roots.length === 0 ? (
            !error && <Empty icon="camera" title={t.none} command={`atoll snapshot create ${sandbox.id}`}>{t.noneText}</Empty>
          ) : (
            <LineageTree sandbox={sandbox} roots={roots} chosen={chosen?.id} />
          )}
        </Card>
        {chosen ? <Chosen sandbox={sandbox} snapshot={chosen} /> : roots.length > 0 && <p class="muted">{t.choose}</p>}
      </div>
      {chosen && canTake(sandbox, "exec") && (
        <Card title={t.diffTitle(showHidden(chosen.name, 60))}>
          <ChangeList key={chosen.id} of="sandbox" id={sandbox.id} base={chosen.id} />
        </Card>
      )}
      {open === "take" && <TakeDialog sandbox={sandbox} onClose={() => setOpen(null)} />}
      {open === "fork" && <ForkDialog sandbox={sandbox} onClose={() => setOpen(null)} />}
      <SnapshotDialogs />
    </div>
  );
}

function LineageTree({ sandbox, roots, chosen }: { sandbox: Sandbox; roots: LineageNode<SnapshotRow>[]; chosen: string | undefined }) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const top = sandbox.lineage?.[0]?.kind === "snapshot" ? sandbox.lineage[0].id : null;
  const here: TreeNode = { id: NOW, icon: "box", label: <span class="strong">{t.here}</span> };
  const nodeOf = ({ snapshot, children }: LineageNode<SnapshotRow>): TreeNode => {
    const below = [...children.map(nodeOf), ...(snapshot.id === top ? [here] : [])];
    return { id: snapshot.id, icon: "camera", label: <SnapshotLabel snapshot={snapshot} />, children: below.length ? below : undefined };
  };
  const nodes = [...roots.map(nodeOf), ...(top && roots.length ? [] : [here])];
  const ids = new Set<string>();
  const collect = (list: readonly TreeNode[]): void => list.forEach((n) => (ids.add(n.id), collect(n.children ?? [])));
  collect(nodes);
  return (
    <Tree
      label={t.title}
      nodes={nodes}
      open={new Set([...ids].filter((id) => !closed.has(id)))}
      current={chosen}
      onChoose={(id) => setQuery({ snapshot: id === NOW ? undefined : id }, false)}
      onToggle={(id) => setClosed(new Set(closed.has(id) ? [...closed].filter((c) => c !== id) : [...closed, id]))}
    />
  );
}

function SnapshotLabel({ snapshot }: { snapshot: SnapshotRow }) {
  return (
    <span class="lineage-label">
      <Safe text={snapshot.name} max={60} /> {snapshot.state !== "ready" && <StateChip state={snapshot.state} />}
      <span class="meta">
        <Time at={snapshot.created_at} />
        {snapshot.sandboxes ? ` · ${t.uses(snapshot.sandboxes)}` : ""}
      </span>
    </span>
  );
}

function Chosen({ sandbox, snapshot }: { sandbox: Sandbox; snapshot: SnapshotRow }) {
  return (
    <Card
      title={<Safe text={snapshot.name} max={60} />}
      actions={
        <>
          <ButtonLink isSmall icon="right" href={href(at`snapshots/${snapshot.id}`)}>{t.page}</ButtonLink>
          <MenuButton label={shared.table.rowMenu(showHidden(snapshot.name, 60))} items={() => snapshotMenu(snapshot)} />
        </>
      }
    >
      <Facts
        facts={[
          [names.state, <StateChip state={snapshot.state} />],
          [names.created, <Time at={snapshot.created_at} />],
          snapshot.sandbox !== sandbox.id && [names.sandbox, <a href={sandboxHref(snapshot.sandbox)}><Safe text={snapshot.sandbox_name} max={60} /></a>],
          [names.depth, String(snapshot.depth)],
          snapshot.size_bytes !== undefined && [names.size, formatBytes(snapshot.size_bytes)],
          snapshot.sandboxes !== undefined && [names.uses, names.usesText(snapshot.sandboxes)],
          [names.frozen, formatDuration(snapshot.frozen_ms)],
        ]}
      />
    </Card>
  );
}

function TakeDialog({ sandbox, onClose }: { sandbox: Sandbox; onClose: () => void }) {
  return (
    <FormDialog
      title={t.takeTitle}
      about={t.takeAbout}
      yes={t.takeYes}
      schema={snapshotCreateSchema}
      fields={[{ name: "name", label: t.name }, { name: "memory", label: t.memory }, { name: "backup", label: t.backup }]}
      onClose={onClose}
      send={async (body) => {
        const made = await snapshotSandbox(sandbox.id, body);
        snapshots.reveal(made);
        setQuery({ snapshot: made.id });
        showToast({ kind: "done", text: words.snapshotDone(showHidden(made.name, 60)) });
      }}
    />
  );
}

function ForkDialog({ sandbox, onClose }: { sandbox: Sandbox; onClose: () => void }) {
  return (
    <FormDialog
      title={t.forkTitle}
      about={t.forkAbout}
      yes={t.forkYes}
      schema={forkSchema}
      initial={{ count: "1" }}
      fields={[{ name: "count", label: t.forkCount, isRequired: true }, { name: "name", label: t.forkName }, { name: "memory", label: t.memory }]}
      onClose={onClose}
      send={async (body) => {
        const ids = await forkSandbox(sandbox.id, Number(body["count"]), body["name"] as string | undefined, body["memory"] as boolean | undefined);
        const first = ids[0];
        showToast({ kind: "done", text: words.forkDone(ids.length), action: first ? { label: words.showFork, run: () => go(sandboxHref(first)) } : undefined });
      }}
    />
  );
}
