// SPDX-License-Identifier: Apache-2.0
// live_view.tsx: a port in a frame, on an origin of its own only: what a sandbox serves never shares the console's origin.
import { useEffect, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../../api/errors";
import { Button, ButtonLink } from "../../../parts/button";
import { Segmented } from "../../../parts/field";
import { Card } from "../../../parts/layout";
import { ErrorNote, Note, Skeleton } from "../../../parts/notice";
import { queryOf, setQuery } from "../../../router";
import type { Sandbox } from "../../../store/sandboxes";
import { common as shared, sandboxPreview as t } from "../../../text/en";
import { addressOfLink, privateLink } from "./ports";

/** The last two labels of a host: what browsers take for its site, except below suffixes such as co.uk. null: an address. */
function siteOf(host: string): string | null {
  return /^[\d.]+$|^\[/.test(host) ? null : host.split(".").slice(-2).join(".");
}

/** An address that a frame may show: not the console's own origin, and of the same site, since previews refuse requests from others. */
export function frameAddress(address: string | null): string | null {
  if (!address) return null;
  try {
    const url = new URL(address);
    const isPreview = /^https?:$/.test(url.protocol) && url.origin !== location.origin;
    return isPreview && siteOf(url.hostname) === siteOf(location.hostname) && url.protocol === location.protocol ? url.href : null;
  } catch {
    return null;
  }
}

export function LiveView({ sandbox, port, hasOrigin }: { sandbox: Sandbox; port: number; hasOrigin: boolean }) {
  const [link, setLink] = useState<{ frame: string | null; address: string } | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [round, setRound] = useState(0);
  const width = queryOf("width") || "full";
  useEffect(() => {
    let isGone = false;
    setError(null);
    privateLink(sandbox.id, port)
      .then((made) => !isGone && setLink({ frame: frameAddress(made.hostUrl), address: addressOfLink(made) }))
      .catch((thrown: unknown) => !isGone && setError(asApiError(thrown)));
    return () => {
      isGone = true;
    };
  }, [sandbox.id, port, round]);
  return (
    <Card
      title={t.port(port)}
      actions={
        <>
          {link?.frame && <Segmented label={t.width} value={width} choices={Object.entries(t.widths).map(([value, label]) => ({ value, label }))} onChange={(w) => setQuery({ width: w === "full" ? undefined : w })} />}
          <Button isSmall icon="reload" label={t.frameReload} onClick={() => setRound(round + 1)} />
          {link && <ButtonLink isSmall icon="open" isNewTab href={link.address} label={t.newTab} />}
          <Button isSmall icon="close" label={shared.close} onClick={() => setQuery({ port: undefined }, false)} />
        </>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => setRound(round + 1)} />}
      {!link && !error && <Skeleton lines={6} />}
      {link && !link.frame && (
        <Note action={<ButtonLink isSmall icon="open" isNewTab href={link.address}>{t.newTab}</ButtonLink>}>{hasOrigin ? t.otherSite : t.noOrigin}</Note>
      )}
      {link?.frame && (
        <div class={`frame-place width-${width === "tablet" || width === "phone" ? width : "full"}`}>
          <iframe key={round} class="preview-frame" title={t.viewTitle(port)} src={link.frame} sandbox="allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-downloads" referrerpolicy="no-referrer" />
        </div>
      )}
    </Card>
  );
}
