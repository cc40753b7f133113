// SPDX-License-Identifier: Apache-2.0
// sidebar.tsx: the pages in their groups; on a phone a bar at the bottom.
import { useEffect } from "preact/hooks";
import { Icon } from "../parts/icons";
import { MenuButton } from "../parts/menu";
import { found, href } from "../router";
import { loaderOf, ROUTES, type Group, type Route } from "../routes";
import { approvals, builds } from "../store/lists";
import { isSidebarNarrow } from "../store/preferences";
import { hasScope, projectId } from "../store/session";
import { common as t } from "../text/en";
import { Mark } from "./mark";

const GROUPS: readonly Group[] = ["run", "build", "watch", "manage"];
/** Entries of the phone's bar; the others are behind "More". */
const ON_PHONE = ["overview", "sandboxes", "approvals"];
/** Pages of which the entry of another stands for the current place. */
const PART_OF: Record<string, string> = { sandbox: "sandboxes" };

export function isOffered(route: Route): boolean {
  return route.group !== undefined && loaderOf(route) !== undefined && (!route.scope || hasScope(route.scope));
}

function badgeOf(page: string): number {
  if (page === "approvals") return approvals.ids.value.length;
  if (page === "builds") return builds.items.filter((b) => b.status === "building" || b.status === "running").length;
  return 0;
}

function currentPage(): string {
  const page = found.value?.route.page ?? "";
  return PART_OF[page] ?? page;
}

export function Sidebar() {
  const project = projectId.value;
  useEffect(() => {
    if (!hasScope("sandbox:read")) return;
    approvals.ensure();
    builds.ensure();
  }, [project]);
  return (
    <nav class="sidebar" aria-label={t.shell.menu}>
      <a class="brand" href={href("overview")}>
        <Mark />
        <span class="when-wide">{t.product}</span>
      </a>
      {GROUPS.map((group) => {
        const routes = ROUTES.filter((r) => r.group === group && isOffered(r));
        return routes.length === 0 ? null : (
          <div class="side-group" key={group}>
            <h2 class="when-wide">{t.shell.groups[group]}</h2>
            {routes.map((r) => (
              <SideLink key={r.page} route={r} />
            ))}
          </div>
        );
      })}
      <span class="grow" />
      <button type="button" class="side-link side-toggle" aria-label={isSidebarNarrow.value ? t.shell.widen : t.shell.narrow} data-tip={isSidebarNarrow.value ? `${t.shell.widen} ([)` : undefined} onClick={() => (isSidebarNarrow.value = !isSidebarNarrow.value)}>
        <Icon name="sidebar" />
        <span class="when-wide">{t.shell.narrow}</span>
      </button>
    </nav>
  );
}

function SideLink({ route }: { route: Route }) {
  const title = t.pages[route.page] ?? route.page;
  const badge = badgeOf(route.page);
  return (
    <a class="side-link" href={href(route.page)} aria-current={currentPage() === route.page ? "page" : undefined} aria-label={badge > 0 ? t.shell.badge(title, badge, route.page) : title} data-tip={isSidebarNarrow.value ? title : undefined}>
      <Icon name={route.icon ?? "box"} />
      <span class="when-wide grow">{title}</span>
      {badge > 0 && <span class="badge" aria-hidden="true">{badge}</span>}
    </a>
  );
}

export function BottomBar() {
  const offered = ROUTES.filter(isOffered);
  const rest = offered.filter((r) => !ON_PHONE.includes(r.page));
  return (
    <nav class="bottom-bar" aria-label={t.shell.menu}>
      {offered
        .filter((r) => ON_PHONE.includes(r.page))
        .map((r) => (
          <a key={r.page} href={href(r.page)} aria-current={currentPage() === r.page ? "page" : undefined}>
            <Icon name={r.icon ?? "box"} size={20} />
            <span>{t.pages[r.page]}</span>
            {badgeOf(r.page) > 0 && <span class="badge">{badgeOf(r.page)}</span>}
          </a>
        ))}
      <MenuButton label={t.shell.more} button={{ kind: "quiet", icon: "more" }} items={() => rest.map((r) => ({ label: t.pages[r.page] ?? r.page, icon: r.icon, href: href(r.page) }))}>
        {t.shell.more}
      </MenuButton>
    </nav>
  );
}
