// SPDX-License-Identifier: Apache-2.0
// switches.tsx: whether a sandbox has previews and links for other people, and the end of all links.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { patchApiSandboxInstancesIdPreview, type Preview, type PreviewChange } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { ask } from "../../../parts/dialog";
import { CheckField } from "../../../parts/field";
import { Card } from "../../../parts/layout";
import { ErrorNote } from "../../../parts/notice";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxPreview as t } from "../../../text/en";

export function Switches({ sandbox, preview, onChange }: { sandbox: Sandbox; preview: Preview; onChange: () => void }) {
  const [error, setError] = useState<ApiError | null>(null);
  const scope = missingScope(patchApiSandboxInstancesIdPreview);
  const why = scope && shared.missingScope(scope);
  const change = async (body: PreviewChange, done?: string): Promise<void> => {
    setError(null);
    try {
      await call(patchApiSandboxInstancesIdPreview, { path: { id: sandbox.id }, body });
      if (done) showToast({ kind: "done", text: done });
    } catch (thrown) {
      setError(asApiError(thrown));
    }
    onChange();
  };
  const endLinks = async (): Promise<void> => {
    if (await ask({ title: t.endTitle, text: t.endText, yes: t.endLinks, isDangerous: true })) await change({ rotate: true }, t.ended);
  };
  return (
    <Card title={t.switches} actions={<Button isSmall icon="stop" disabledBecause={why} onClick={() => void endLinks()}>{t.endLinks}</Button>}>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <CheckField isSwitch label={t.enabled} help={t.enabledHelp} value={preview.enabled} disabledBecause={why} onChange={(enabled) => void change({ enabled })} />
      <CheckField isSwitch label={t.public} help={t.publicHelp} value={preview.public} disabledBecause={why ?? (preview.sharingEnabled ? null : t.sharingOff)} onChange={(isPublic) => void change({ public: isPublic })} />
    </Card>
  );
}
