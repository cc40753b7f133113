// SPDX-License-Identifier: Apache-2.0
// All sandboxes of the project, live.
import { signal, type ReadonlySignal } from "@preact/signals";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { askDelete, forbids, iconOfAction, primaryAction, runAction, sandboxHref, sandboxMenu, takeFork, takeSnapshot } from "../../objects/sandbox_actions";
import { SANDBOX_COLUMNS } from "../../objects/sandbox_columns";
import { matchesQuery, parseQuery } from "../../objects/sandbox_query";
import { Button, ButtonLink } from "../../parts/button";
import { copyText } from "../../parts/copy";
import { useCommands } from "../../parts/keys";
import { Page } from "../../parts/layout";
import { Lazy } from "../../parts/lazy";
import { Empty, ErrorNote, Loaded, Skeleton } from "../../parts/notice";
import { Table } from "../../parts/table";
import { useCursor } from "../../parts/table_keys";
import { useItems } from "../../parts/view";
import { go, queryOf, setQuery } from "../../router";
import { call } from "../../api/call";
import { getApiSandboxInstances, postApiSandboxInstances } from "../../api/generated";
import { useFigures } from "../../store/figures";
import { useResource } from "../../store/resource";
import { canTake, sandboxes, type Sandbox } from "../../store/sandboxes";
import { missingScope } from "../../store/session";
import { common as shared, sandbox as words, sandboxes as t } from "../../text/en";
import { FilterBar } from "./filter_bar";
import { SelectionBar } from "./selection_bar";
import "./sandboxes.css";

const loadCreate = () => import("../../objects/create_sandbox");
const DEFAULT_SORT = "-last_activity";

export default function SandboxesPage() {
  useEffect(() => sandboxes.ensure(), []);
  useFigures();
  const text = queryOf("q");
  const query = useMemo(() => parseQuery(text), [text]);
  const isCreating = queryOf("new") !== "";
  const lacks = missingScope(postApiSandboxInstances);
  const create = (): void => setQuery({ new: "1" }, false);
  useCommands([{ id: "sandboxes.create", title: t.new, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: create }]);
  const wantsDeleted = query.tokens.some((x) => x.field === "state" && x.values.includes("deleted"));
  return (
    <Page
      title={t.title}
      isFull
      actions={
        <Button kind="primary" icon="plus" disabledBecause={lacks && shared.missingScope(lacks)} onClick={create}>
          {t.new}
        </Button>
      }
    >
      {wantsDeleted ? <DeletedOnes text={text} /> : <LiveOnes text={text} onCreate={create} />}
      {isCreating && <Lazy load={loadCreate} props={{ onClose: () => setQuery({ new: undefined, template: undefined, snapshot: undefined }, true) }} />}
    </Page>
  );
}

const onSearch = (q: string, isTyping: boolean): void => setQuery({ q }, isTyping);
const onSort = (sort: string): void => setQuery({ sort: sort === DEFAULT_SORT ? undefined : sort });

function LiveOnes({ text, onCreate }: { text: string; onCreate: () => void }) {
  const query = useMemo(() => parseQuery(text), [text]);
  const selection = useMemo(() => signal<ReadonlySet<string>>(new Set()), []);
  const view = useMemo(() => signal<ReadonlySignal<readonly string[]> | null>(null), []);
  const cursor = useCursor();
  const shown = view.value?.value ?? [];
  const error = sandboxes.error.value;
  const all = sandboxes.ids.value.length;
  const filter = useCallback((s: Sandbox) => matchesQuery(s, query), [query]);
  useRowCommands(() => (cursor.id.value === null ? undefined : sandboxes.peek(cursor.id.value)));
  const isFirstLoad = all === 0 && (sandboxes.status.value === "loading" || sandboxes.status.value === "idle");
  if (isFirstLoad) return <Skeleton lines={10} />;
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void sandboxes.load()} />}
      {(all > 0 || text !== "") && <FilterBar text={text} onChange={onSearch} count={t.all(shown.length, Math.max(all, sandboxes.total.value ?? 0))} />}
      <div class="table-place">
        <Table
          name="sandboxes"
          label={t.title}
          source={sandboxes}
          columns={SANDBOX_COLUMNS}
          nameOf={(s) => s.name}
          filter={text ? filter : undefined}
          filterKey={text}
          sort={queryOf("sort") || DEFAULT_SORT}
          onSort={onSort}
          selection={selection}
          onOpen={openSandbox}
          menuOf={sandboxMenu}
          actionsOf={rowAction}
          actionsWidth={72}
          cursor={cursor}
          onView={(ids) => (view.value = ids)}
          empty={all === 0 ? <NoSandbox onCreate={onCreate} /> : <NoMatch text={text} />}
        />
        <SelectionBar selection={selection} shown={shown} />
      </div>
    </>
  );
}

const openSandbox = (s: Sandbox): void => go(sandboxHref(s.id));

/** The action that the state calls for, as one button in the row. */
function rowAction(s: Sandbox) {
  const action = primaryAction(s);
  return action && <Button kind="quiet" isSmall icon={iconOfAction(action)} label={`${words.actions[action]} ${s.name}`} tip={words.actions[action]} disabledBecause={forbids(action)} onClick={() => void runAction(s, action)} />;
}

function useRowCommands(current: () => Sandbox | undefined): void {
  const on = (id: string, title: string, keys: string, icon: string, isOffered: (s: Sandbox) => boolean, run: (s: Sandbox) => void) => ({
    id: `row.${id}`, title, keys, icon, section: t.title,
    isOffered: () => {
      const s = current();
      return s !== undefined && isOffered(s);
    },
    run: () => {
      const s = current();
      if (s) run(s);
    },
  });
  const able = (action: Parameters<typeof canTake>[1]) => (s: Sandbox) => canTake(s, action);
  useCommands([
    on("start", words.actions.start, "s", "play", (s) => canTake(s, "start") || canTake(s, "resume"), (s) => void runAction(s, canTake(s, "start") ? "start" : "resume")),
    on("stop", words.actions.stop, "e", "stop", able("stop"), (s) => void runAction(s, "stop")),
    on("pause", words.actions.pause, "z", "pause", able("pause"), (s) => void runAction(s, "pause")),
    on("snapshot", words.actions.snapshot, "n", "camera", able("snapshot"), (s) => void takeSnapshot(s)),
    on("fork", words.actions.fork, "f", "fork", able("fork"), (s) => void takeFork(s)),
    on("terminal", words.actions.terminal, "t", "terminal", able("exec"), (s) => go(sandboxHref(s.id, "terminal"))),
    on("preview", words.actions.preview, "p", "globe", able("exec"), (s) => go(sandboxHref(s.id, "preview"))),
    on("delete", words.actions.delete, "Delete", "trash", able("delete"), (s) => void askDelete([s])),
    on("copy", words.actions.copyId, "y", "copy", () => true, (s) => void copyText(s.id)),
    on("link", words.actions.copyLink, "Shift+Y", "link", () => true, (s) => void copyText(location.origin + sandboxHref(s.id))),
  ]);
}

function NoSandbox({ onCreate }: { onCreate: () => void }) {
  return (
    <Empty icon="box" title={t.none} command={t.noneCommand} action={<Button kind="primary" icon="plus" onClick={onCreate}>{t.new}</Button>}>
      {t.noneText}
    </Empty>
  );
}

function NoMatch({ text }: { text: string }) {
  return (
    <Empty
      icon="search"
      title={t.noMatch}
      action={
        <>
          <Button onClick={() => setQuery({ q: undefined }, false)}>{t.clear}</Button>
          <Button onClick={() => setQuery({ q: `${text} state:deleted` }, false)}>{t.deletedOnes}</Button>
        </>
      }
    >
      {t.noMatchText(text)}
    </Empty>
  );
}

/** Deleted sandboxes are no part of the live list; the server still knows them for a while. */
function DeletedOnes({ text }: { text: string }) {
  const deleted = useResource("deleted", (signal) => call(getApiSandboxInstances, { query: { state: ["deleted"], limit: 1000 }, signal }), { kinds: ["sandbox.deleted"] });
  return <Loaded of={deleted} lines={8}>{(list) => <DeletedTable items={list.items} text={text} />}</Loaded>;
}

function DeletedTable({ items, text }: { items: readonly Sandbox[]; text: string }) {
  const query = useMemo(() => parseQuery(text), [text]);
  const source = useItems(items, (s) => s.id);
  const filter = useCallback((s: Sandbox) => matchesQuery(s, query), [query]);
  return (
    <>
      <FilterBar text={text} onChange={onSearch} count={t.all(items.filter(filter).length, items.length)} />
      <Table name="deleted" label={t.title} source={source} columns={SANDBOX_COLUMNS} nameOf={(s) => s.name} filter={filter} filterKey={text} sort={queryOf("sort") || DEFAULT_SORT} onSort={onSort} onOpen={openSandbox} empty={<Empty icon="search" title={t.noMatch} action={<ButtonLink href="?">{t.clear}</ButtonLink>} />} />
    </>
  );
}
