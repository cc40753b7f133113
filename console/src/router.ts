// SPDX-License-Identifier: Apache-2.0
// router.ts: the address is the state of what is seen: /console/p/PROJECT/PAGE…?view. Paths name objects, the query names the view.
import { computed, signal } from "@preact/signals";
import { ROUTES, type Route } from "./routes";
import { projectId } from "./store/session";

export const BASE = "/console";

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}
export interface Found {
  route: Route;
  params: Record<string, string>;
}

function readPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash };
}

export const place = signal<Place>(readPlace());

/** "/p/:project/sandboxes/:id" against a path: its parameters, or null. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const params: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    if (part.startsWith("*")) {
      params[part.slice(1)] = given.slice(i).map(decodePart).join("/");
      return params;
    }
    const value = given[i];
    if (value === undefined) return null;
    if (part.startsWith(":")) {
      if (value === "") return null;
      params[part.slice(1)] = decodePart(value);
    } else if (part !== value) return null;
  }
  return given.length === wanted.length ? params : null;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The part of the path below /console, without a slash at the end. */
export function innerPath(path: string): string {
  return path.replace(/^\/console/, "").replace(/\/+$/, "") || "/";
}

export const found = computed<Found | null>(() => {
  const path = innerPath(place.value.path);
  for (const route of ROUTES) {
    const params = matchPath(route.path, path);
    if (params) return { route, params };
  }
  return null;
});

/** The address of a page of this project: href("sandboxes", {q: "state:failed"}); encode parts of objects by at(). */
export function href(page: string, query?: Record<string, string | undefined>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value) search.set(key, value);
  const text = search.toString();
  return `${BASE}/p/${encodeURIComponent(projectId.value)}/${page}${text ? `?${text}` : ""}`;
}

/** at`sandboxes/${id}/files`: a page's path with every part encoded. */
export function at(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((path, part, i) => path + encodeURIComponent(values[i - 1] ?? "") + part);
}

const scrolls = new Map<string, number>();
let key = 0;

function keep(): void {
  scrolls.set(String((history.state as { key?: number } | null)?.key ?? 0), document.scrollingElement?.scrollTop ?? 0);
}

/** Goes to an address of the console. replace: the address before is not kept for Back. */
export function go(address: string, replace = false): void {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE)) {
    location.assign(url);
    return;
  }
  const isOtherPage = url.pathname !== location.pathname;
  keep();
  if (replace) history.replaceState({ key }, "", url);
  else history.pushState({ key: ++key }, "", url);
  place.value = readPlace();
  if (isOtherPage) scrollTo(0, 0);
}

/** Changes members of the query; undefined, "" or a default removes one. Typing replaces, choosing pushes. */
export function setQuery(change: Record<string, string | undefined>, replace = true): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  if (url.href !== location.href) go(url.href, replace);
}

/** One member of the query, followed. */
export function queryOf(name: string): string {
  return place.value.query.get(name) ?? "";
}

/** A click on a link of the console changes the page without loading it anew. */
function onClick(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const link = (e.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${BASE}/`)) return;
  e.preventDefault();
  if (link.href !== location.href) go(link.href);
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", (e) => {
    place.value = readPlace();
    const top = scrolls.get(String((e.state as { key?: number } | null)?.key ?? 0)) ?? 0;
    requestAnimationFrame(() => scrollTo(0, top));
  });
  document.addEventListener("click", onClick);
}
