// SPDX-License-Identifier: Apache-2.0
// menu.tsx: a button that opens a list of actions. Arrow keys move, letters jump, Escape closes.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button";
import { Icon } from "./icons";
import { showKeys } from "./keys";

export interface MenuItem {
  label: string;
  icon?: string;
  keys?: string;
  run?: () => void;
  href?: string;
  isDangerous?: boolean;
  isChecked?: boolean;
  disabledBecause?: string | null;
  /** A line above. */
  isApart?: boolean;
}

export function MenuButton(props: { items: () => MenuItem[]; label: string; children?: ComponentChildren; button?: Partial<ButtonProps> }) {
  const [at, setAt] = useState<DOMRect | null>(null);
  return (
    <span class="menu-anchor">
      <Button
        icon="more"
        label={props.label}
        {...props.button}
        isPressed={undefined}
        onClick={(e) => {
          e.stopPropagation();
          setAt(at ? null : e.currentTarget.getBoundingClientRect());
        }}
      >
        {props.children}
      </Button>
      {at && <MenuList items={props.items()} at={at} label={props.label} onClose={() => setAt(null)} />}
    </span>
  );
}

/** Below `at` where there is room, else above; never outside of the window. */
function placeMenu(menu: HTMLElement, at: DOMRect): void {
  const box = menu.getBoundingClientRect();
  const below = at.bottom + 4;
  const top = below + box.height > innerHeight - 8 ? Math.max(8, at.top - box.height - 4) : below;
  const left = Math.min(at.left, innerWidth - box.width - 8);
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(8, left)}px`;
}

export function MenuList({ items, at, label, onClose }: { items: MenuItem[]; at: DOMRect; label: string; onClose: () => void }) {
  const ref = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    const menu = ref.current;
    if (!menu) return;
    const opener = document.activeElement;
    menu.showPopover();
    placeMenu(menu, at);
    menu.querySelector<HTMLElement>("[role^=menuitem]")?.focus();
    const onToggle = (e: Event): void => {
      if ((e as ToggleEvent).newState === "closed") onClose();
    };
    menu.addEventListener("toggle", onToggle);
    return () => {
      menu.removeEventListener("toggle", onToggle);
      if (menu.contains(document.activeElement) && opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <div ref={ref} id={id} class="menu" popover="auto" role="menu" aria-label={label} onKeyDown={(e) => moveInMenu(e, onClose)} onClick={(e) => e.stopPropagation()}>
      {items.map((item) => (
        <MenuRow key={item.label} item={item} onClose={onClose} />
      ))}
    </div>
  );
}

function MenuRow({ item, onClose }: { item: MenuItem; onClose: () => void }) {
  const off = Boolean(item.disabledBecause);
  const body = (
    <>
      {item.isChecked !== undefined ? <span class="menu-check">{item.isChecked && <Icon name="check" />}</span> : item.icon && <Icon name={item.icon} />}
      <span class="grow">{item.label}</span>
      {item.keys && <kbd>{showKeys(item.keys)}</kbd>}
    </>
  );
  const shared = {
    class: `menu-item${item.isDangerous ? " danger" : ""}${item.isApart ? " apart" : ""}`,
    tabIndex: -1,
    "aria-disabled": off || undefined,
    "data-tip": item.disabledBecause ?? undefined,
  };
  if (item.href && !off) {
    return (
      <a {...shared} role="menuitem" href={item.href} onClick={onClose}>
        {body}
      </a>
    );
  }
  const isCheck = item.isChecked !== undefined;
  return (
    <button
      {...shared}
      type="button"
      role={isCheck ? "menuitemcheckbox" : "menuitem"}
      aria-checked={isCheck ? item.isChecked : undefined}
      onClick={() => {
        if (off) return;
        onClose();
        item.run?.();
      }}
    >
      {body}
    </button>
  );
}

function moveInMenu(e: KeyboardEvent, onClose: () => void): void {
  const menu = e.currentTarget as HTMLElement;
  const rows = [...menu.querySelectorAll<HTMLElement>("[role^=menuitem]")];
  const now = rows.indexOf(document.activeElement as HTMLElement);
  const focusOn = (i: number): void => rows[(i + rows.length) % rows.length]?.focus();
  if (e.key === "ArrowDown") focusOn(now + 1);
  else if (e.key === "ArrowUp") focusOn(now - 1);
  else if (e.key === "Home") focusOn(0);
  else if (e.key === "End") focusOn(rows.length - 1);
  else if (e.key === "Tab") onClose();
  else if (e.key.length === 1 && e.key !== " " && !e.ctrlKey) {
    const letter = e.key.toLowerCase();
    const next = [...rows.slice(now + 1), ...rows].find((r) => r.textContent?.trim().toLowerCase().startsWith(letter));
    next?.focus();
  } else return;
  e.stopPropagation();
  e.preventDefault();
}
