// SPDX-License-Identifier: Apache-2.0
// The path as links, or as a field to type one.
import { useState } from "preact/hooks";
import { Button, ButtonLink } from "../../../parts/button";
import { TextField } from "../../../parts/field";
import { Safe } from "../../../parts/text";
import { go } from "../../../router";
import { sandboxFiles as t } from "../../../text/en";
import { fileHref, normalPath, parentOf } from "./paths";

export function PathBar({ sandbox, path }: { sandbox: string; path: string }) {
  const [typed, setTyped] = useState<string | null>(null);
  if (typed !== null) {
    const submit = (e: Event): void => {
      e.preventDefault();
      setTyped(null);
      go(fileHref(sandbox, normalPath(typed)));
    };
    return (
      <form class="path-bar" onSubmit={submit} onKeyDown={(e) => e.key === "Escape" && setTyped(null)}>
        <TextField label={t.path} isLabelHidden isMono hasFocus value={typed} onChange={setTyped} maxLength={4096} />
        <Button type="submit">{t.goTo}</Button>
      </form>
    );
  }
  const parts = path === "/" ? [] : path.slice(1).split("/");
  return (
    <nav class="path-bar" aria-label={t.path}>
      <ButtonLink kind="quiet" isSmall icon="up" label={t.up} href={fileHref(sandbox, parentOf(path))} />
      <a class="path-part" href={fileHref(sandbox, "/")} aria-label={t.root}>/</a>
      {parts.map((part, i) => {
        const to = `/${parts.slice(0, i + 1).join("/")}`;
        return (
          <span key={to} class="path-step">
            {i > 0 && <span class="muted" aria-hidden="true">/</span>}
            <a class="path-part" href={fileHref(sandbox, to)} aria-current={i === parts.length - 1 ? "location" : undefined}><Safe text={part} max={60} /></a>
          </span>
        );
      })}
      <Button kind="quiet" isSmall icon="edit" label={t.editPath} onClick={() => setTyped(path)} />
    </nav>
  );
}
