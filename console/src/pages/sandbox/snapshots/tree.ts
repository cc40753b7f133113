// SPDX-License-Identifier: Apache-2.0
// tree.ts: the snapshots of one sandbox and those below them, as a tree by parent.
import type { LineageStep, Snapshot } from "../../../api/generated";

export interface LineageNode<T> {
  snapshot: T;
  children: LineageNode<T>[];
}

/** `lineage` names the snapshots below the sandbox's files now, uppermost first. */
export function lineageTree<T extends Snapshot>(all: readonly T[], sandbox: string, lineage: readonly LineageStep[]): LineageNode<T>[] {
  const byId = new Map(all.map((s) => [s.id, s]));
  const wanted = new Set([...all.filter((s) => s.sandbox === sandbox).map((s) => s.id), ...lineage.filter((l) => l.kind === "snapshot").map((l) => l.id)]);
  for (const id of [...wanted]) {
    for (let parent = byId.get(id)?.parent; parent && !wanted.has(parent); parent = byId.get(parent)?.parent) wanted.add(parent);
  }
  const nodes = new Map<string, LineageNode<T>>();
  for (const id of wanted) {
    const snapshot = byId.get(id);
    if (snapshot) nodes.set(id, { snapshot, children: [] });
  }
  const roots: LineageNode<T>[] = [];
  for (const node of nodes.values()) (nodes.get(node.snapshot.parent ?? "")?.children ?? roots).push(node);
  const order = (list: LineageNode<T>[]): LineageNode<T>[] => {
    for (const node of list) order(node.children);
    return list.sort((a, b) => ((a.snapshot.created_at ?? "") < (b.snapshot.created_at ?? "") ? -1 : 1));
  };
  return order(roots);
}
