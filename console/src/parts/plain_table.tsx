// SPDX-License-Identifier: Apache-2.0
// plain_table.tsx: a short table without sorting and selection. Long lists use parts/table.
import type { ComponentChildren } from "preact";

/** A column's head; a tuple for one that is at the end of its cell, or that only screen readers hear. */
export type PlainHead = string | readonly [title: string, look: "end" | "unseen"];

/** `children` are the rows. With `label` a table that is wider than its place scrolls. */
export function PlainTable({ heads, label, children }: { heads: readonly PlainHead[]; label?: string; children: ComponentChildren }) {
  const table = (
    <table class="plain-table">
      <thead>
        <tr>
          {heads.map((head) => (
            <Head key={String(head)} of={head} />
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
  if (!label) return table;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={label}>
      {table}
    </div>
  );
}

function Head({ of }: { of: PlainHead }) {
  const [title, look] = typeof of === "string" ? [of, undefined] : of;
  return (
    <th scope="col" class={look === "end" ? "end" : undefined}>
      {look === "unseen" ? <span class="off-screen">{title}</span> : title}
    </th>
  );
}
