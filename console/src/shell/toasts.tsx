// SPDX-License-Identifier: Apache-2.0
import { Button } from "../parts/button";
import { CopyButton } from "../parts/copy";
import { Icon } from "../parts/icons";
import { showHiddenLines } from "../parts/safe";
import { closeToast, toasts, type Toast } from "../store/toasts";
import { common as t } from "../text/en";

export function Toasts() {
  const all = toasts.value;
  return (
    <div class="toasts">
      <div role="status" aria-live="polite">
        {all.filter((x) => x.kind === "done").map((toast) => <ToastCard key={toast.id} toast={toast} />)}
      </div>
      <div role="alert" aria-live="assertive">
        {all.filter((x) => x.kind === "error").map((toast) => <ToastCard key={toast.id} toast={toast} />)}
      </div>
    </div>
  );
}

function ToastCard({ toast }: { toast: Toast }) {
  return (
    <div class={`toast ${toast.kind}`}>
      <Icon name={toast.kind === "error" ? "warning" : "check"} />
      <div class="grow">
        <p>{showHiddenLines(toast.text)}</p>
        {toast.hint && <p class="muted">{showHiddenLines(toast.hint)}</p>}
        {toast.requestId && (
          <p class="meta">
            {t.requestId} <span class="mono">{toast.requestId}</span> <CopyButton text={toast.requestId} label={t.copyRequestId} />
          </p>
        )}
      </div>
      {toast.action && (
        <Button
          isSmall
          onClick={() => {
            closeToast(toast.id);
            toast.action?.run();
          }}
        >
          {toast.action.label}
        </Button>
      )}
      <Button kind="quiet" isSmall icon="close" label={t.close} onClick={() => closeToast(toast.id)} />
    </div>
  );
}
