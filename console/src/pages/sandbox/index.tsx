// SPDX-License-Identifier: Apache-2.0
// The frame of one sandbox: name, state, actions and tabs. A tab that breaks takes neither head nor actions with it.
import { useEffect } from "preact/hooks";
import { Boundary } from "../../parts/boundary";
import { ButtonLink } from "../../parts/button";
import { useCommands } from "../../parts/keys";
import { Page, Tabs } from "../../parts/layout";
import { Lazy } from "../../parts/lazy";
import { Empty, ErrorNote, Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { askDelete, runAction, sandboxHref, takeFork, takeSnapshot } from "../../objects/sandbox_actions";
import { go, href } from "../../router";
import type { PageProps } from "../../routes";
import { pendingOf, dismissPending } from "../../store/pending";
import { useSandbox } from "../../store/sandbox_calls";
import { canTake, sandboxes, type Sandbox } from "../../store/sandboxes";
import { common as shared, sandbox as t } from "../../text/en";
import { Head, HeadActions } from "./head";
import { loaderOfTab, offeredTabs } from "./tab";
import "./sandbox.css";

export default function SandboxPage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const { resource, sandbox } = useSandbox(id);
  useEffect(() => sandboxes.ensure(), []);
  const error = resource.error.value;
  if (!sandbox && error?.status === 404) {
    return (
      <Page title={t.notFound}>
        <Empty icon="box" title={t.notFound} action={<ButtonLink href={href("sandboxes")}>{shared.pages["sandboxes"]}</ButtonLink>}>
          {t.notFoundText}
        </Empty>
      </Page>
    );
  }
  const tab = params["tab"] ?? offeredTabs()[0] ?? "overview";
  if (!sandbox) {
    return (
      <Page title={t.tabs[tab] ?? tab}>
        <Loaded of={resource}>{() => null}</Loaded>
      </Page>
    );
  }
  return <Known sandbox={sandbox} tab={tab} rest={params["rest"] ?? ""} />;
}

function Known({ sandbox, tab, rest }: { sandbox: Sandbox; tab: string; rest: string }) {
  const name = showHidden(sandbox.name, 80);
  const tabs = offeredTabs();
  useSandboxCommands(sandbox, tabs);
  const failure = pendingOf(sandbox.id).value?.error;
  return (
    <Page title={`${name} · ${t.tabs[tab] ?? tab}`} heading={<Head sandbox={sandbox} />} actions={<HeadActions sandbox={sandbox} />} isFull>
      {failure && <ErrorNote error={failure} onClose={() => dismissPending(sandbox.id)} />}
      {sandbox.state === "deleted" && <Note>{t.deletedBanner}</Note>}
      {sandbox.agent === "unresponsive" && <Note tone="warn">{t.wrongAgent}</Note>}
      <Tabs label={t.tabsLabel} current={tab} tabs={tabs.map((id) => ({ id, title: t.tabs[id] ?? id, href: sandboxHref(sandbox.id, id) }))} />
      <div class="tab-body">
        <Boundary key={`${sandbox.id} ${tab}`}>
          <TabBody sandbox={sandbox} tab={tab} rest={rest} />
        </Boundary>
      </div>
    </Page>
  );
}

function TabBody({ sandbox, tab, rest }: { sandbox: Sandbox; tab: string; rest: string }) {
  const load = loaderOfTab(tab);
  return load ? <Lazy load={load} props={{ sandbox, rest }} /> : <Empty icon="help" title={t.tabMissing} />;
}

/** The sandbox before or after this one in the list. */
function goBeside(sandbox: Sandbox, step: number, tab: string | undefined): void {
  const ids = sandboxes.ids.peek();
  const next = ids[ids.indexOf(sandbox.id) + step];
  if (next) go(sandboxHref(next, tab));
}

function useSandboxCommands(sandbox: Sandbox, tabs: readonly string[]): void {
  const section = showHidden(sandbox.name, 40);
  const action = (id: "start" | "resume" | "pause" | "stop", keys: string, icon: string) => ({ id: `sandbox.${id}`, title: t.actions[id], keys, icon, section, isOffered: () => canTake(sandbox, id), run: () => void runAction(sandbox, id) });
  useCommands([
    action("start", "s", "play"),
    action("resume", "s", "play"),
    action("pause", "z", "pause"),
    action("stop", "e", "stop"),
    { id: "sandbox.snapshot", title: t.actions.snapshot, keys: "n", icon: "camera", section, isOffered: () => canTake(sandbox, "snapshot"), run: () => void takeSnapshot(sandbox) },
    { id: "sandbox.fork", title: t.actions.fork, keys: "f", icon: "fork", section, isOffered: () => canTake(sandbox, "fork"), run: () => void takeFork(sandbox) },
    { id: "sandbox.delete", title: t.actions.delete, keys: "Delete", icon: "trash", section, isOffered: () => canTake(sandbox, "delete"), run: () => void askDelete([sandbox]) },
    ...tabs.slice(0, 9).map((tab, i) => ({ id: `sandbox.tab.${tab}`, title: t.tabs[tab] ?? tab, keys: String(i + 1), section, run: () => go(sandboxHref(sandbox.id, tab)) })),
    { id: "sandbox.next", title: "Next sandbox", keys: "Shift+J", section, run: () => goBeside(sandbox, 1, undefined) },
    { id: "sandbox.previous", title: "Previous sandbox", keys: "Shift+K", section, run: () => goBeside(sandbox, -1, undefined) },
  ]);
}
