// SPDX-License-Identifier: Apache-2.0
// layout.tsx: the frame of pages: head with the one h1, cards, tabs, lists of facts, tiles.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { common as t } from "../text/en";

/** title: also the tab's title in the browser, before "Atoll". */
export function Page(props: { title: string; heading?: ComponentChildren; about?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; isFull?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · ${t.product}`;
  }, [props.title]);
  useEffect(() => {
    // The focus goes to a new page's heading, unless the user has put it somewhere on the page.
    if (document.activeElement === document.body || document.activeElement === null) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class={`page${props.isFull ? " full" : ""}`}>
      <header class="page-head">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {props.heading ?? props.title}
          </h1>
          {props.about && <p class="muted">{props.about}</p>}
        </div>
        {props.actions && <div class="row">{props.actions}</div>}
      </header>
      {props.children}
    </div>
  );
}

export function Card(props: { title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; isFlush?: boolean; class?: string }) {
  return (
    <section class={`card${props.isFlush ? " flush" : ""} ${props.class ?? ""}`}>
      {(props.title || props.actions) && (
        <header class="card-head">
          {props.title && <h2>{props.title}</h2>}
          {props.actions && <div class="row">{props.actions}</div>}
        </header>
      )}
      <div class="card-body">{props.children}</div>
    </section>
  );
}

export interface Tab {
  id: string;
  title: string;
  href: string;
  badge?: string | number | null;
}

/** Tabs are links: each has its address. */
export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    ref.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={ref}>
      {tabs.map((tab) => (
        <a key={tab.id} href={tab.href} class="tab" aria-current={tab.id === current ? "page" : undefined}>
          {tab.title}
          {tab.badge !== undefined && tab.badge !== null && <span class="badge">{tab.badge}</span>}
        </a>
      ))}
    </nav>
  );
}

export type Fact = readonly [label: string, value: ComponentChildren] | null | false;

/** Names and values; null rows are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div class="fact" key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A figure with its name; "–" where the figure is not known. */
export function Tile(props: { label: string; value: ComponentChildren; note?: ComponentChildren; href?: string; tone?: "good" | "warn" | "bad" }) {
  const body = (
    <>
      <span class="tile-label">{props.label}</span>
      <span class={`tile-value${props.tone ? ` text-${props.tone}` : ""}`}>{props.value}</span>
      <span class="tile-note">{props.note}</span>
    </>
  );
  return props.href ? (
    <a class="tile" href={props.href}>
      {body}
    </a>
  ) : (
    <div class="tile">{body}</div>
  );
}
