// SPDX-License-Identifier: Apache-2.0
// What has changed in the files since the template or a snapshot: list, lines, keep, revert.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { getApiSandboxInstancesIdChanges, getApiSandboxInstancesIdDiff, postApiSandboxInstancesIdChangesAccept, postApiSandboxInstancesIdChangesRevert, type Change } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { Chip } from "../../../parts/chip";
import { Diff } from "../../../parts/diff";
import { ask } from "../../../parts/dialog";
import { SelectField } from "../../../parts/field";
import { formatBytes } from "../../../parts/format";
import { Empty, ErrorNote, Loaded } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { Safe } from "../../../parts/text";
import { place, queryOf, setQuery } from "../../../router";
import { snapshots } from "../../../store/lists";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxFiles as t } from "../../../text/en";

const TEMPLATE = "template";
const TONES: Readonly<Record<string, "good" | "warn" | "bad" | "plain">> = { added: "good", deleted: "bad", modified: "warn" };

export function Changes({ sandbox, chooser }: { sandbox: Sandbox; chooser: ComponentChildren }) {
  useEffect(() => snapshots.ensure(), []);
  const base = queryOf("base") || TEMPLATE;
  const changes = useResource(`changes ${sandbox.id} ${base}`, (signal) => call(getApiSandboxInstancesIdChanges, { path: { id: sandbox.id }, query: { base, limit: 1000 }, signal }), { onFocus: true });
  const [error, setError] = useState<ApiError | null>(null);
  const scope = missingScope(postApiSandboxInstancesIdChangesRevert);
  const forbidden = scope && shared.missingScope(scope);
  const own = snapshots.ids.value.map((id) => snapshots.get(id)).filter((s) => s?.sandbox === sandbox.id);
  const act = (work: () => Promise<void>): void => {
    setError(null);
    work().then(changes.reload, (thrown: unknown) => setError(asApiError(thrown)));
  };
  const keep = (): void => act(async () => {
    const made = await call(postApiSandboxInstancesIdChangesAccept, { path: { id: sandbox.id }, body: {} });
    showToast({ kind: "done", text: t.kept(showHidden(made.name, 60)) });
  });
  const revert = async (path: string, encoding: string | undefined): Promise<void> => {
    const what = path === "/" ? t.everything : showHidden(path, 100);
    if (!(await ask({ title: t.revertTitle(what), text: t.revertText, yes: t.revert, isDangerous: true }))) return;
    act(async () => {
      const body = { paths: [path === "/" || encoding === "base64" ? path : `/${path}`], base, ...(encoding === "base64" ? { encoding: "base64" as const } : {}) };
      const answer = await call(postApiSandboxInstancesIdChangesRevert, { path: { id: sandbox.id }, body });
      const bad = answer.items.find((r) => !r.ok);
      if (bad) setError(asApiError(new Error(bad.message ?? bad.error ?? "")));
      else showToast({ kind: "done", text: `${t.reverted} ${what}` });
    });
  };
  return (
    <>
      <div class="row">
        {chooser}
        <SelectField label={t.compare} isLabelHidden value={base} onChange={(next) => setQuery({ base: next === TEMPLATE ? undefined : next, path: undefined }, false)}
          choices={[{ value: TEMPLATE, label: t.withTemplate }, ...own.map((s) => ({ value: s?.id ?? "", label: t.withSnapshot(showHidden(s?.name ?? "", 60)) }))]} />
        <span class="grow" />
        <Button icon="camera" disabledBecause={forbidden} onClick={keep}>{t.keep}</Button>
        <Button icon="reload" disabledBecause={forbidden} onClick={() => void revert("/", undefined)}>{t.revertAll}</Button>
      </div>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <Loaded of={changes} lines={8}>
        {(list) => list.items.length === 0
          ? <Empty icon="check" title={t.noChanges} command={`atoll diff ${sandbox.name}`}>{t.noChangesText}</Empty>
          : <Split sandbox={sandbox} base={base} items={list.items} hasMore={list.next_page !== null} forbidden={forbidden} onRevert={(c) => void revert(c.path, c.path_encoding)} />}
      </Loaded>
    </>
  );
}

interface SplitProps {
  sandbox: Sandbox;
  base: string;
  items: readonly Change[];
  hasMore: boolean;
  forbidden: string | null;
  onRevert: (change: Change) => void;
}

function Split({ sandbox, base, items, hasMore, forbidden, onRevert }: SplitProps) {
  const chosen = queryOf("path");
  const current = items.find((c) => c.path === chosen);
  return (
    <div class="changes">
      <div class="changes-list">
        <p class="meta">{t.changesCount(items.length)}{hasMore && " +"}</p>
        <ul>
          {items.map((c) => (
            <li key={`${c.path_encoding ?? ""} ${c.path}`}>
              <a class="change" href={addressOfChange(c.path)} aria-current={c === current ? "true" : undefined}>
                <span class="cut mono"><Safe text={c.path} /></span>
                <Chip tone={TONES[c.kind] ?? "plain"}>{t.kinds[c.kind] ?? c.kind}</Chip>
              </a>
            </li>
          ))}
        </ul>
      </div>
      <div class="change-view">
        {current ? <ChangeView key={current.path} sandbox={sandbox} base={base} change={current} forbidden={forbidden} onRevert={onRevert} /> : <p class="muted">{t.choose}</p>}
      </div>
    </div>
  );
}

function addressOfChange(path: string): string {
  const query = new URLSearchParams(place.value.query);
  query.set("path", path);
  return `${place.value.path}?${query.toString()}`;
}

type ViewProps = Pick<SplitProps, "sandbox" | "base" | "forbidden" | "onRevert"> & { change: Change };

function ChangeView({ sandbox, base, change, forbidden, onRevert }: ViewProps) {
  const diff = useResource(`diff ${sandbox.id} ${base} ${change.path} ${change.size}`, async (signal) => {
    if (change.path_encoding === "base64") return change;
    const answer = await call(getApiSandboxInstancesIdDiff, { path: { id: sandbox.id }, query: { base, path: `/${change.path}`, limit: 1 }, signal });
    return answer.items.find((c) => c.path === change.path) ?? change;
  });
  return (
    <>
      <div class="row tight">
        <h2 class="change-title mono"><Safe text={change.path} /></h2>
        <span class="grow" />
        <span class="muted nowrap">{formatBytes(change.size_before)} → {formatBytes(change.size)}</span>
        <Button isSmall disabledBecause={forbidden} onClick={() => onRevert(change)}>{t.revert}</Button>
      </div>
      <Loaded of={diff}>
        {(data) => data.diff && data.diff_encoding !== "base64" ? <Diff text={data.diff} label={t.diffOf(showHidden(change.path, 80))} /> : <p class="muted">{t.noDiff}</p>}
      </Loaded>
    </>
  );
}
