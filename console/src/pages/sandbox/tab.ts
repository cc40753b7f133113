// SPDX-License-Identifier: Apache-2.0
// tab.ts: the tabs of a sandbox, in order. A tab is the folder pages/sandbox/NAME with an index.tsx whose default export gets TabProps;
// one whose folder is absent is not offered.
import type { ComponentType } from "preact";
import type { Sandbox } from "../../store/sandboxes";

export interface TabProps {
  sandbox: Sandbox;
  /** What follows the tab in the address: sandboxes/ID/files/REST, decoded; "" when nothing does. */
  rest: string;
}

export const TABS = ["overview", "metrics", "processes", "terminal", "files", "preview", "network", "activity", "snapshots", "cost"] as const;

type TabModule = { default: ComponentType<TabProps> };
const modules = import.meta.glob<TabModule>("./*/index.tsx");

export function loaderOfTab(tab: string): (() => Promise<TabModule>) | undefined {
  return modules[`./${tab}/index.tsx`];
}

export const offeredTabs = (): string[] => TABS.filter((tab) => loaderOfTab(tab));
