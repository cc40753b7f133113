// SPDX-License-Identifier: Apache-2.0
// notice.tsx: pages without rows, errors where they happened, and what stands there while something loads.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/errors";
import type { Resource } from "../store/resource";
import { common as t } from "../text/en";
import { Button } from "./button";
import { CopyButton, CopyLine } from "./copy";
import { Icon } from "./icons";
import { showHiddenLines } from "./safe";

/** Teaches: what this is, the button, and the same by command. isPage: it is all that the page has. */
export function Empty(props: { icon?: string; title: string; isPage?: boolean; children?: ComponentChildren; action?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      {props.icon && (
        <span class="empty-icon">
          <Icon name={props.icon} size={28} />
        </span>
      )}
      {props.isPage ? <h1>{props.title}</h1> : <h2>{props.title}</h2>}
      {props.children && <p>{props.children}</p>}
      {props.action && <div class="row">{props.action}</div>}
      {props.command && <CopyLine text={props.command} />}
    </div>
  );
}

/** What the API says: message, hint, request id. */
export function ErrorNote({ error, what, onRetry, onClose }: { error: ApiError; what?: string; onRetry?: () => void; onClose?: () => void }) {
  const note = useRef<HTMLDivElement>(null);
  // Above a long form it would be out of view, while the button that failed is at the end.
  useEffect(() => {
    if (note.current?.closest("dialog")) note.current.scrollIntoView({ block: "nearest" });
  }, [error]);
  return (
    <div ref={note} class="note bad" role="alert">
      <Icon name="warning" />
      <div class="note-body">
        <p class="note-title">{showHiddenLines(what ? `${what}: ${error.message}` : error.message)}</p>
        {error.hint && <p>{showHiddenLines(error.hint)}</p>}
        {error.requestId && (
          <p class="meta">
            {t.requestId} <span class="mono">{error.requestId}</span> <CopyButton text={error.requestId} label={t.copyRequestId} />
          </p>
        )}
      </div>
      {onRetry && (
        <Button isSmall icon="reload" onClick={onRetry}>
          {t.retry}
        </Button>
      )}
      {onClose && <Button isSmall kind="quiet" icon="close" label={t.close} onClick={onClose} />}
    </div>
  );
}

export function Note({ tone = "info", icon, children, action }: { tone?: "info" | "warn" | "bad" | "good"; icon?: string; children: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class={`note ${tone}`}>
      <Icon name={icon ?? (tone === "info" ? "info" : tone === "good" ? "check" : "warning")} />
      <div class="note-body">{children}</div>
      {action}
    </div>
  );
}

const SHOW_MS = 150;
const LONG_MS = 5000;

/** Nothing at first, then grey lines, then a sentence with what is awaited. */
export function Skeleton({ lines = 3, what }: { lines?: number; what?: string }) {
  const [stage, setStage] = useState(0);
  useEffect(() => {
    const timers = [setTimeout(() => setStage(1), SHOW_MS), setTimeout(() => setStage(2), LONG_MS)];
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <div class="skeleton" role="group" aria-busy="true" aria-label={t.loading}>
      {stage > 0 && Array.from({ length: lines }, (_, i) => <span key={i} class={`bone bone-${i % 3}`} />)}
      {stage > 1 && what && <p class="muted">{what}</p>}
    </div>
  );
}

/** The usual three of a resource: its data (old data stays, dimmed, while newer comes), its error, or a skeleton. */
export function Loaded<T>({ of, children, lines, what }: { of: Resource<T>; children: (data: T) => ComponentChildren; lines?: number; what?: string }) {
  const data = of.data.value;
  const error = of.error.value;
  if (data === undefined) return error ? <ErrorNote error={error} onRetry={of.reload} /> : <Skeleton lines={lines} what={what} />;
  return (
    <>
      {error && <ErrorNote error={error} onRetry={of.reload} />}
      {children(data)}
    </>
  );
}
