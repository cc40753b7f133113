// SPDX-License-Identifier: Apache-2.0
// top_bar.tsx: project, search, live light, theme, account.
import { liveStatus } from "../api/events";
import { Icon } from "../parts/icons";
import { showKeys } from "../parts/keys";
import { MenuButton, type MenuItem } from "../parts/menu";
import { showHidden } from "../parts/safe";
import { BASE, go, href } from "../router";
import { loaderOf } from "../routes";
import { theme, type Theme } from "../store/preferences";
import { projectId, session, signOut } from "../store/session";
import { common as t } from "../text/en";

const THEME_ICONS: Record<Theme, string> = { system: "screen", light: "sun", dark: "moon" };

export function TopBar({ name, onSearch, onShortcuts }: { name: string; onSearch: () => void; onShortcuts: () => void }) {
  return (
    <header class="top-bar">
      <ProjectSwitch name={name} />
      <button type="button" class="search-button" onClick={onSearch}>
        <Icon name="search" />
        <span class="grow">{t.shell.search}</span>
        <kbd>{showKeys("Ctrl+K")}</kbd>
      </button>
      <span class="grow" />
      <LiveLight />
      <ThemeSwitch />
      <Account onShortcuts={onShortcuts} />
    </header>
  );
}

function ProjectSwitch({ name }: { name: string }) {
  const projects = session.value?.projects ?? [];
  const items = (): MenuItem[] =>
    projects.map((p) => ({ label: showHidden(p.name, 60), isChecked: p.id === projectId.value, run: () => go(`${BASE}/p/${encodeURIComponent(p.id)}/overview`) }));
  return (
    <MenuButton items={items} label={t.shell.project} button={{ kind: "quiet", icon: "layers", tip: t.shell.project }}>
      <bdi class="project-name">{showHidden(name, 40)}</bdi>
      <Icon name="down" size={12} />
    </MenuButton>
  );
}

function LiveLight() {
  const { state } = liveStatus.value;
  const text = state === "live" ? t.live.live : t.live.connecting;
  return (
    <span class={`live-light ${state}`} role="status" data-tip={text}>
      <i aria-hidden="true" />
      <span class="when-room">{text}</span>
    </span>
  );
}

function ThemeSwitch() {
  const items = (): MenuItem[] => (["system", "light", "dark"] as const).map((id) => ({ label: t.shell.themes[id], isChecked: theme.value === id, run: () => (theme.value = id) }));
  return <MenuButton items={items} label={t.shell.theme} button={{ kind: "quiet", icon: THEME_ICONS[theme.value] }} />;
}

function Account({ onShortcuts }: { onShortcuts: () => void }) {
  const user = session.value?.user;
  const items = (): MenuItem[] => [
    ...(loaderOf({ page: "profile" }) ? [{ label: t.shell.profile, icon: "user", href: href("profile") }] : []),
    { label: t.shell.shortcuts, icon: "keyboard", keys: "?", run: onShortcuts },
    { label: t.shell.signOut, icon: "signout", isApart: true, run: () => void signOut() },
  ];
  return (
    <MenuButton items={items} label={t.shell.account} button={{ kind: "quiet", icon: "user" }}>
      {user && <bdi class="when-room">{showHidden(user.name || user.email, 30)}</bdi>}
    </MenuButton>
  );
}
