// SPDX-License-Identifier: Apache-2.0
// ports.ts: the ports that listen inside a sandbox, and links to them.
import { call, fetchRaw } from "../../../api/call";
import { asApiError } from "../../../api/errors";
import { postApiSandboxInstancesIdPreviewTokens, type PreviewLinkMade } from "../../../api/generated";

export interface Port {
  port: number;
  address: string;
  pid: number;
  process: number;
  command: string;
  preview: boolean;
}
export interface Ports {
  items: Port[];
  truncated: boolean;
  /** False: the server cannot list ports. */
  isKnown: boolean;
}

export async function readPorts(id: string, signal: AbortSignal): Promise<Ports> {
  try {
    const answer = await fetchRaw("GET", `/api/sandbox/instances/${encodeURIComponent(id)}/ports`, { signal });
    const found = (await answer.json()) as { items: Port[]; truncated: boolean };
    return { items: found.items, truncated: found.truncated, isKnown: true };
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.status === 404 || error.status === 405) return { items: [], truncated: false, isKnown: false };
    throw thrown;
  }
}

/** A link for the caller's own browser. */
export const privateLink = (id: string, port: number): Promise<PreviewLinkMade> => call(postApiSandboxInstancesIdPreviewTokens, { path: { id }, body: { port, private: true } });

export const sharedLink = (id: string, port: number, ttlSeconds: number): Promise<PreviewLinkMade> => call(postApiSandboxInstancesIdPreviewTokens, { path: { id }, body: { port, ttlSeconds } });

/** The address that a browser opens: of an origin of its own where there is one. */
export const addressOfLink = (link: PreviewLinkMade): string => link.hostUrl ?? (link.url || new URL(link.path, location.origin).href);

/** Opens the link in a tab. The tab is opened at once, since browsers refuse one that an answer opens. */
export async function openLink(make: () => Promise<PreviewLinkMade>): Promise<void> {
  const tab = window.open("about:blank", "_blank");
  if (tab) tab.opener = null;
  try {
    const address = addressOfLink(await make());
    if (tab) tab.location.replace(address);
    else location.assign(address);
  } catch (thrown) {
    tab?.close();
    throw thrown;
  }
}
