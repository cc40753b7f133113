// SPDX-License-Identifier: Apache-2.0
// port_row.tsx: one port with its program and what can be done with it.
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../../api/errors";
import { postApiSandboxInstancesIdPreviewTokens, type ListeningPort, type Preview, type PreviewLinkMade } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { Chip } from "../../../parts/chip";
import { copyText, CopyLine } from "../../../parts/copy";
import { Dialog } from "../../../parts/dialog";
import { SelectField } from "../../../parts/field";
import { Lazy } from "../../../parts/lazy";
import { ErrorNote, Note } from "../../../parts/notice";
import { Safe, Time } from "../../../parts/text";
import { setQuery } from "../../../router";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxPreview as t } from "../../../text/en";
import { addressOfLink, openLink, privateLink, sharedLink } from "./ports";

const loadQr = () => import("../../../lazy/qr");

export function PortRow({ sandbox, preview, port, isShown }: { sandbox: Sandbox; preview: Preview; port: ListeningPort; isShown: boolean }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isSharing, setSharing] = useState(false);
  const scope = missingScope(postApiSandboxInstancesIdPreviewTokens);
  const why = scope ? shared.missingScope(scope) : !preview.enabled ? t.off : !preview.reachable ? t.noNetwork : port.preview ? null : t.localTip(port.address);
  const attempt = (run: () => Promise<unknown>): void => {
    setError(null);
    run().catch((thrown: unknown) => setError(asApiError(thrown)));
  };
  const copy = async (): Promise<void> => {
    if (await copyText(addressOfLink(await privateLink(sandbox.id, port.port)))) showToast({ kind: "done", text: t.linkCopied });
  };
  return (
    <li class="port">
      <span class="port-number mono">{port.port}</span>
      <span class="port-program">
        {port.command ? <Safe text={port.command} max={200} mono /> : <span class="muted">{t.port(port.port)}</span>}
        {!port.preview && <Chip tone="warn" tip={t.localTip(port.address)}>{t.local}</Chip>}
      </span>
      <span class="row tight">
        <Button isSmall icon="open" disabledBecause={why} onClick={() => attempt(() => openLink(() => privateLink(sandbox.id, port.port)))}>{t.open}</Button>
        <Button isSmall icon="screen" disabledBecause={why} isPressed={isShown} onClick={() => setQuery({ port: isShown ? undefined : String(port.port) }, false)}>{isShown ? t.hide : t.frame}</Button>
        <Button isSmall icon="copy" label={`${t.copy}, ${t.port(port.port)}`} disabledBecause={why} onClick={() => attempt(copy)} />
        <Button isSmall icon="link" disabledBecause={why} onClick={() => setSharing(true)}>{t.share}</Button>
      </span>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      {isSharing && <ShareDialog sandbox={sandbox} preview={preview} port={port.port} onClose={() => setSharing(false)} />}
    </li>
  );
}

function ShareDialog({ sandbox, preview, port, onClose }: { sandbox: Sandbox; preview: Preview; port: number; onClose: () => void }) {
  const [seconds, setSeconds] = useState("86400");
  const [made, setMade] = useState<PreviewLinkMade | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isOff = !preview.public || !preview.sharingEnabled;
  const make = async (): Promise<void> => {
    if (isOff) return;
    setBusy(true);
    setError(null);
    try {
      setMade(await sharedLink(sandbox.id, port, Number(seconds)));
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t.shareTitle(port)}
      onClose={onClose}
      onSubmit={() => void make()}
      footer={
        <>
          <Button onClick={onClose}>{shared.close}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={isOff}>{t.make}</Button>
        </>
      }
    >
      {isOff && <Note tone="warn">{preview.sharingEnabled ? t.shareOff : t.sharingOff}</Note>}
      {error && <ErrorNote error={error} />}
      <SelectField label={t.duration} value={seconds} onChange={setSeconds} choices={Object.entries(t.durations).map(([value, label]) => ({ value, label }))} />
      {made && (
        <div class="stack" role="status">
          <CopyLine text={addressOfLink(made)} />
          <Lazy load={loadQr} lines={4} props={{ text: addressOfLink(made), label: t.qr }} />
          <p class="meta">
            {t.expires} <Time at={made.expiresAt} />
          </p>
        </div>
      )}
    </Dialog>
  );
}
