// SPDX-License-Identifier: Apache-2.0
// allow_host.tsx: the button that adds a refused host to the rules of a sandbox. The rule holds at once.
import { useState } from "preact/hooks";
import { call } from "../api/call";
import { asApiError } from "../api/errors";
import { postApiSandboxInstancesIdEgressAllow } from "../api/generated";
import { Button } from "../parts/button";
import { mergeAnswer } from "../store/sandboxes";
import { missingScope } from "../store/session";
import { showToast, toastError } from "../store/toasts";
import { common as words, sandboxNetwork as t } from "../text/en";

/** Refusals that a further allowed host ends; the others come from a rule, or from the request itself. */
const ALLOWABLE = new Set(["host-not-allowed", "address-denied"]);

export const isAllowable = (code: string): boolean => ALLOWABLE.has(code);

export function AllowHost({ sandbox, host, onDone }: { sandbox: string; host: string; onDone?: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const scope = missingScope(postApiSandboxInstancesIdEgressAllow);
  const allow = async (): Promise<void> => {
    setBusy(true);
    try {
      mergeAnswer(await call(postApiSandboxInstancesIdEgressAllow, { path: { id: sandbox }, body: { host } }));
      showToast({ kind: "done", text: t.hostAllowed });
      onDone?.();
    } catch (thrown) {
      toastError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button isSmall isBusy={isBusy} disabledBecause={scope && words.missingScope(scope)} onClick={() => void allow()}>
      {t.allowHost}
    </Button>
  );
}
