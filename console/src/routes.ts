// SPDX-License-Identifier: Apache-2.0
// routes.ts: all pages. A page is the folder pages/NAME with an index.tsx whose default export is the component; a row whose folder is
// absent is not offered. `page` names the folder.
import type { ComponentType } from "preact";

export type Group = "run" | "build" | "watch" | "manage";

/** What a page gets: the parameters of its path. */
export interface PageProps {
  params: Record<string, string>;
}

export interface Route {
  /** Below /console; ":name" is a parameter, "*name" the rest. */
  path: string;
  /** Folder in pages/. */
  page: string;
  /** Entry of the sidebar; absent: reached from another page. */
  group?: Group;
  icon?: string;
  /** Keys that lead here: "g o". */
  keys?: string;
  /** A scope without which the page is not offered. */
  scope?: string;
  /** Shown without a session. */
  isPublic?: boolean;
}

const IN = "/p/:project";

export const ROUTES: readonly Route[] = [
  { path: "/sign-in", page: "sign-in", isPublic: true },
  { path: "/setup", page: "setup", isPublic: true },
  { path: "/join", page: "join", isPublic: true },
  { path: `${IN}/overview`, page: "overview", group: "run", icon: "home", keys: "g o" },
  { path: `${IN}/sandboxes`, page: "sandboxes", group: "run", icon: "box", keys: "g s", scope: "sandbox:read" },
  { path: `${IN}/sandboxes/:id`, page: "sandbox" },
  { path: `${IN}/sandboxes/:id/:tab`, page: "sandbox" },
  { path: `${IN}/sandboxes/:id/:tab/*rest`, page: "sandbox" },
  { path: `${IN}/playground`, page: "playground", group: "run", icon: "play", keys: "g p", scope: "sandbox:write" },
  { path: `${IN}/approvals`, page: "approvals", group: "run", icon: "check", keys: "g a" },
  { path: `${IN}/approvals/:id`, page: "approvals" },
  { path: `${IN}/templates`, page: "templates", group: "build", icon: "layers", keys: "g t" },
  { path: `${IN}/templates/:id`, page: "templates" },
  { path: `${IN}/builds`, page: "builds", group: "build", icon: "hammer", keys: "g b" },
  { path: `${IN}/builds/:id`, page: "builds" },
  { path: `${IN}/volumes`, page: "volumes", group: "build", icon: "disk", keys: "g v" },
  { path: `${IN}/volumes/:id`, page: "volumes" },
  { path: `${IN}/volumes/:id/*rest`, page: "volumes" },
  { path: `${IN}/snapshots`, page: "snapshots", group: "build", icon: "camera", keys: "g n" },
  { path: `${IN}/snapshots/:id`, page: "snapshots" },
  { path: `${IN}/events`, page: "events", group: "watch", icon: "pulse", keys: "g e" },
  { path: `${IN}/network`, page: "network", group: "watch", icon: "globe", keys: "g d", scope: "sandbox:read" },
  { path: `${IN}/audit`, page: "audit", group: "watch", icon: "archive", keys: "g l", scope: "project:write" },
  { path: `${IN}/usage`, page: "usage", group: "watch", icon: "chart", keys: "g u" },
  { path: `${IN}/keys`, page: "keys", group: "manage", icon: "key", keys: "g k" },
  { path: `${IN}/credentials`, page: "credentials", group: "manage", icon: "shield", keys: "g c", scope: "sandbox:read" },
  { path: `${IN}/members`, page: "members", group: "manage", icon: "people", keys: "g m" },
  { path: `${IN}/webhooks`, page: "webhooks", group: "manage", icon: "hook", keys: "g w" },
  { path: `${IN}/webhooks/:id`, page: "webhooks" },
  { path: `${IN}/settings`, page: "settings", group: "manage", icon: "gear", keys: "g ," },
  { path: `${IN}/providers`, page: "providers", group: "manage", icon: "cpu", keys: "g i", scope: "sandbox:read" },
  { path: `${IN}/server`, page: "server", group: "manage", icon: "server", keys: "g r" },
  { path: `${IN}/profile`, page: "profile" },
];

type PageModule = { default: ComponentType<PageProps> };
const modules = import.meta.glob<PageModule>("./pages/*/index.tsx");

/** Loads the page of a route; undefined when its folder is absent. */
export function loaderOf(route: Pick<Route, "page">): (() => Promise<PageModule>) | undefined {
  return modules[`./pages/${route.page}/index.tsx`];
}
