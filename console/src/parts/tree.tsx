// SPDX-License-Identifier: Apache-2.0
// tree.tsx: a tree whose open branches the caller knows, so that a refresh closes none.
import type { ComponentChildren } from "preact";
import { common as t } from "../text/en";
import { Icon } from "./icons";

export interface TreeNode {
  id: string;
  label: ComponentChildren;
  icon?: string;
  /** undefined: a leaf; empty: children that are not loaded, or none. */
  children?: readonly TreeNode[];
  href?: string;
}

export interface TreeProps {
  label: string;
  nodes: readonly TreeNode[];
  open: ReadonlySet<string>;
  current?: string;
  onToggle: (id: string) => void;
  onChoose?: (id: string) => void;
}

interface FlatNode {
  node: TreeNode;
  level: number;
  parent: string | null;
}

function flatten(nodes: readonly TreeNode[], open: ReadonlySet<string>, level = 1, parent: string | null = null): FlatNode[] {
  return nodes.flatMap((node) => [{ node, level, parent }, ...(open.has(node.id) ? flatten(node.children ?? [], open, level + 1, node.id) : [])]);
}

export function Tree(props: TreeProps) {
  const rows = flatten(props.nodes, props.open);
  const current = rows.some((r) => r.node.id === props.current) ? props.current : rows[0]?.node.id;
  return (
    <ul class="tree" role="tree" aria-label={props.label} onKeyDown={(e) => moveInTree(e, rows, props)}>
      {rows.map((row) => (
        <TreeRow key={row.node.id} row={row} props={props} isCurrent={row.node.id === current} />
      ))}
    </ul>
  );
}

function TreeRow({ row: { node, level }, props, isCurrent }: { row: FlatNode; props: TreeProps; isCurrent: boolean }) {
  const isOpen = props.open.has(node.id);
  const branch = node.children !== undefined;
  return (
    <li
      role="treeitem"
      data-id={node.id}
      class={`tree-row level-${Math.min(level, 12)}${node.id === props.current ? " current" : ""}`}
      aria-level={level}
      aria-expanded={branch ? isOpen : undefined}
      aria-selected={node.id === props.current}
      tabIndex={isCurrent ? 0 : -1}
      onClick={(e) => {
        if ((e.target as Element).closest("a, button:not(.tree-twist)")) return;
        if (branch && (e.target as Element).closest(".tree-twist")) props.onToggle(node.id);
        else props.onChoose?.(node.id);
      }}
    >
      {branch ? (
        <button type="button" class="tree-twist" tabIndex={-1} aria-label={isOpen ? t.tree.collapse : t.tree.expand}>
          <Icon name={isOpen ? "down" : "right"} size={12} />
        </button>
      ) : (
        <span class="tree-twist" />
      )}
      {node.icon && <Icon name={node.icon} />}
      {node.href ? <a href={node.href} tabIndex={-1}>{node.label}</a> : <span class="tree-label">{node.label}</span>}
    </li>
  );
}

function moveInTree(e: KeyboardEvent, rows: readonly FlatNode[], props: TreeProps): void {
  const list = e.currentTarget as HTMLElement;
  const id = (document.activeElement as HTMLElement | null)?.dataset["id"];
  const at = rows.findIndex((r) => r.node.id === id);
  const row = rows[at];
  if (!row) return;
  const isOpen = props.open.has(row.node.id);
  const focusOn = (other: FlatNode | undefined): void => [...list.children].find((c) => (c as HTMLElement).dataset["id"] === other?.node.id && ((c as HTMLElement).focus(), true)) as unknown as void;
  if (e.key === "ArrowDown") focusOn(rows[at + 1]);
  else if (e.key === "ArrowUp") focusOn(rows[at - 1]);
  else if (e.key === "Home") focusOn(rows[0]);
  else if (e.key === "End") focusOn(rows.at(-1));
  else if (e.key === "ArrowRight" && row.node.children && !isOpen) props.onToggle(row.node.id);
  else if (e.key === "ArrowRight") focusOn(rows[at + 1]);
  else if (e.key === "ArrowLeft" && isOpen) props.onToggle(row.node.id);
  else if (e.key === "ArrowLeft") focusOn(rows.find((r) => r.node.id === row.parent));
  else if (e.key === "Enter" || e.key === " ") props.onChoose?.(row.node.id);
  else return;
  e.preventDefault();
  e.stopPropagation();
}
