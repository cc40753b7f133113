// SPDX-License-Identifier: Apache-2.0
// paths.ts: paths of a sandbox and their addresses in the console.
import { href } from "../../../router";

/** Absolute, without "." and "..", without a slash at the end. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

export const joinPath = (folder: string, name: string): string => (folder === "/" ? `/${name}` : `${folder}/${name}`);
export const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const extensionOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";

/** The root folder is an encoded slash: a path that ends in one would be the tab itself. */
export function fileHref(sandbox: string, path: string, query?: Record<string, string | undefined>): string {
  const rest = path === "/" ? "%2F" : path.slice(1).split("/").map(encodeURIComponent).join("/");
  return href(`sandboxes/${encodeURIComponent(sandbox)}/files/${rest}`, query);
}
