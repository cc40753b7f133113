// SPDX-License-Identifier: Apache-2.0
// frame.tsx: what stands around each page of a project: sidebar, top bar, banner, tray, palette.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useCommands } from "../parts/keys";
import { isPhone } from "../parts/media";
import { go, href } from "../router";
import { loaderOf, ROUTES } from "../routes";
import { isSidebarNarrow } from "../store/preferences";
import { toasts, undoNewest } from "../store/toasts";
import { hasRunningWork } from "../store/tray";
import { common as t } from "../text/en";
import { Banner, ProviderBanner } from "./banner";
import { Palette } from "./palette";
import { Sheet } from "./sheet";
import { BottomBar, Sidebar, isOffered } from "./sidebar";
import { TopBar } from "./top_bar";
import { TrayView } from "./tray";

const isPaletteOpen = signal(false);
const isSheetOpen = signal(false);

export function Frame({ name, children }: { name: string; children: ComponentChildren }) {
  useCommands([
    { id: "palette", title: t.shell.search, keys: "Ctrl+K", section: t.palette.general, isInInputs: true, run: () => (isPaletteOpen.value = !isPaletteOpen.value) },
    { id: "shortcuts", title: t.shell.shortcuts, keys: "?", section: t.palette.general, icon: "keyboard", run: () => (isSheetOpen.value = true) },
    { id: "sidebar", title: isSidebarNarrow.value ? t.shell.widen : t.shell.narrow, keys: "[", section: t.palette.general, icon: "sidebar", run: () => (isSidebarNarrow.value = !isSidebarNarrow.value) },
    { id: "undo", title: t.undo, keys: "u", section: t.palette.general, isOffered: () => toasts.peek().some((x) => x.action), run: () => undoNewest() },
    ...ROUTES.filter((r) => r.group && loaderOf(r)).map((r) => ({
      id: `go.${r.page}`,
      title: t.pages[r.page] ?? r.page,
      keys: r.keys,
      icon: r.icon,
      section: t.palette.pages,
      isOffered: () => isOffered(r),
      run: () => go(href(r.page)),
    })),
  ]);
  useEffect(() => {
    const warn = (e: BeforeUnloadEvent): void => {
      if (hasRunningWork()) e.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, []);
  return (
    <div class={`frame${isSidebarNarrow.value ? " narrow" : ""}`}>
      <a class="skip" href="#content" onClick={(e) => (e.preventDefault(), document.getElementById("content")?.focus())}>
        {t.shell.skip}
      </a>
      {!isPhone.value && <Sidebar />}
      <div class="frame-main">
        <TopBar name={name} onSearch={() => (isPaletteOpen.value = true)} onShortcuts={() => (isSheetOpen.value = true)} />
        <Banner />
        <ProviderBanner />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      {isPhone.value && <BottomBar />}
      <TrayView />
      {isPaletteOpen.value && <Palette onClose={() => (isPaletteOpen.value = false)} />}
      {isSheetOpen.value && <Sheet onClose={() => (isSheetOpen.value = false)} />}
    </div>
  );
}
