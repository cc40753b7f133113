// SPDX-License-Identifier: Apache-2.0
// alone.tsx: the frame of pages without a project: sign-in, set-up, join.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { common as t } from "../text/en";
import { Mark } from "./mark";

export function Alone({ title, about, version, children }: { title: string; about?: string; version?: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · ${t.product}`;
  }, [title]);
  return (
    <main class="alone">
      <p class="brand">
        <Mark />
        {t.product}
      </p>
      <div class="alone-card">
        <div>
          <h1>{title}</h1>
          {about && <p class="muted">{about}</p>}
        </div>
        {children}
      </div>
      {version && <p class="meta alone-version">{version}</p>}
    </main>
  );
}
