// SPDX-License-Identifier: Apache-2.0
// ports.ts: links to ports.
import { call } from "../../../api/call";
import { postApiSandboxInstancesIdPreviewTokens, type PreviewLinkMade } from "../../../api/generated";

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
