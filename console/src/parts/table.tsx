// SPDX-License-Identifier: Apache-2.0
// table.tsx: a grid of rows, of which only those in view exist: 10,000 rows scroll like ten. Columns are data; see console/README.md.
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { density } from "../store/preferences";
import { common as t } from "../text/en";
import { isPhone } from "./media";
import { memo } from "./memo";
import { MenuButton, type MenuItem } from "./menu";
import { handleGridKey, useCursor, type Cursor } from "./table_keys";
import { useColumns } from "./table_columns";
import { HeaderRow } from "./table_head";
import { useView, type Order, type RowSource, type SortKey, type View } from "./view";

export interface Column<T> {
  id: string;
  title: string;
  /** Pixels; the least width when `grow` is given. */
  width: number;
  /** Share of what is left. */
  grow?: number;
  cell: (item: T) => ComponentChildren;
  sort?: (item: T) => SortKey;
  align?: "end";
  /** Off until the user switches it on. */
  isOff?: boolean;
  /** Cannot be switched off. */
  isFixed?: boolean;
  /** Leaves a table that is too narrow for all columns; the lowest number goes first. */
  leaves?: number;
  /** Where a phone's card shows it; absent: not there. */
  phone?: "title" | "side" | "meta";
}

export interface TableProps<T> {
  /** Names the table in this browser's preferences. */
  name: string;
  /** Says to screen readers what the rows are. */
  label: string;
  source: RowSource<T>;
  columns: readonly Column<T>[];
  nameOf: (item: T) => string;
  filter?: (item: T) => boolean;
  /** Names the filter: a change arranges the rows anew. */
  filterKey?: string;
  /** "name", or "-name" for downwards. */
  sort?: string;
  onSort?: (sort: string) => void;
  selection?: Signal<ReadonlySet<string>>;
  /** Address of the row's page, for Enter and clicks. */
  hrefOf?: (item: T) => string;
  onOpen?: (item: T) => void;
  /** Space: a look without leaving the table. */
  onPeek?: (item: T) => void;
  menuOf?: (item: T) => MenuItem[];
  /** Buttons at the end of each row. */
  actionsOf?: (item: T) => ComponentChildren;
  actionsWidth?: number;
  /** Shown instead of rows. */
  empty?: ComponentChildren;
  /** Rows that are visible at most; without it the table fills its place. */
  rowsMax?: number;
  /** Gets the ids in view order, for pages that act on all that match. */
  onView?: (ids: ReadonlySignal<readonly string[]>) => void;
  /** The row of the cursor, for shortcuts of the page. */
  cursor?: Cursor;
}

const HEADER = 32;
const CHECK = 36;
const MENU = 44;
const AROUND = 12;
const ROW = { normal: 36, compact: 28, phone: 64 } as const;

export function Table<T>(props: TableProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller).value;
  const around = (props.selection ? CHECK : 0) + (props.menuOf || props.actionsOf ? (props.actionsWidth ?? MENU) : 0);
  const { columns, isShown, toggle, reset } = useColumns(props.name, props.columns, isPhone.value ? Infinity : width - around);
  const sort = props.sort ?? "";
  const sorted = props.columns.find((c) => c.id === sort.replace(/^-/, ""));
  const order: Order<T> | undefined = sorted?.sort && { key: sorted.sort, isDown: sort.startsWith("-") };
  const view = useView(props.source, props.filter, props.filterKey ?? "", order, sort);
  useEffect(() => props.onView?.(view.ids), [view]);
  const own = useCursor();
  const cursor = props.cursor ?? own;
  const rowHeight = isPhone.value ? ROW.phone : ROW[density.value];
  const range = useWindow(scroller, view, rowHeight);
  const ids = view.ids.value;
  // Head and rows have one least width, or their columns would not stand below each other.
  const least = columns.reduce((sum, c) => sum + c.width, around);
  const template = gridTemplate(columns, props);
  useEffect(() => {
    scroller.current?.style.setProperty("--columns", template);
    scroller.current?.style.setProperty("--width", `${least}px`);
    scroller.current?.style.setProperty("--row", `${rowHeight}px`);
    if (props.rowsMax) scroller.current?.style.setProperty("--rows-max", String(Math.min(props.rowsMax, Math.max(1, ids.length))));
  });
  useEffect(() => keepCursor(cursor, ids, scroller.current, rowHeight), [ids, cursor.id.value]);
  const open = (item: T): void => props.onOpen?.(item);
  const [from, to] = range.value;
  const shown = ids.slice(from, to);
  const context: RowContext<T> = { props, columns, cursor, view, open };
  return (
    <div class={`table${props.rowsMax ? " fit" : ""}`}>
      <div
        ref={scroller}
        class={`grid-scroll${least > width ? " wide" : ""}`}
        role="grid"
        tabIndex={0}
        aria-label={props.label}
        aria-rowcount={ids.length + 1}
        aria-multiselectable={props.selection ? true : undefined}
        aria-activedescendant={cursor.id.value && shown.includes(cursor.id.value) ? `row-${cursor.id.value}` : undefined}
        onPointerEnter={() => (view.isHeld.value = true)}
        onPointerLeave={() => (view.isHeld.value = false)}
        onKeyDown={(e) => handleGridKey(e, { ids, cursor, selection: props.selection, page: Math.floor((scroller.current?.clientHeight ?? 400) / rowHeight) - 1, open: (id) => withItem(props, id, openRow), peek: (id) => withItem(props, id, (p, item) => p.onPeek?.(item)) })}
      >
        <HeaderRow table={props} columns={columns} sort={sort} ids={ids} isShown={isShown} toggle={toggle} reset={reset} />
        {ids.length === 0 ? (
          <div class="grid-empty" role="row">
            <div role="gridcell">{props.empty}</div>
          </div>
        ) : (
          <GridBody height={ids.length * rowHeight}>
            {shown.map((id, i) => (
              <GridRow key={id} id={id} index={from + i} height={rowHeight} context={context as RowContext<unknown>} columns={columns as readonly Column<unknown>[]} />
            ))}
          </GridBody>
        )}
      </div>
      {view.waiting.value > 0 && (
        <button type="button" class="pill resort" onClick={() => view.applyNow()}>
          {t.table.resort(view.waiting.value)}
        </button>
      )}
    </div>
  );
}

function withItem<T>(props: TableProps<T>, id: string, run: (props: TableProps<T>, item: T) => void): void {
  const item = props.source.row(id)?.peek();
  if (item !== undefined) run(props, item);
}

function openRow<T>(props: TableProps<T>, item: T): void {
  props.onOpen?.(item);
}

function gridTemplate<T>(columns: readonly Column<T>[], props: TableProps<T>): string {
  const widths = columns.map((c) => (c.grow ? `minmax(${c.width}px, ${c.grow}fr)` : `${c.width}px`));
  const ends = props.menuOf || props.actionsOf ? [`${props.actionsWidth ?? MENU}px`] : [];
  return [...(props.selection ? [`${CHECK}px`] : []), ...widths, ...ends].join(" ");
}

/** The width inside of the table; known before its first frame is drawn. */
function useWidth(scroller: { current: HTMLDivElement | null }): Signal<number> {
  const width = useMemo(() => signal(Infinity), []);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const update = (): void => void (width.value = box.clientWidth);
    update();
    const sizes = new ResizeObserver(update);
    sizes.observe(box);
    return () => sizes.disconnect();
  }, []);
  return width;
}

/** The rows [from, to) that exist. */
function useWindow<T>(scroller: { current: HTMLDivElement | null }, view: View<T>, rowHeight: number): Signal<[number, number]> {
  const range = useMemo(() => signal<[number, number]>([0, 40]), []);
  useEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const update = (): void => {
      const first = Math.max(0, Math.floor((box.scrollTop - HEADER) / rowHeight) - AROUND);
      const last = Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + AROUND;
      const [from, to] = range.peek();
      if (first !== from || last !== to) range.value = [first, last];
    };
    update();
    box.addEventListener("scroll", update, { passive: true });
    const sizes = new ResizeObserver(update);
    sizes.observe(box);
    return () => {
      box.removeEventListener("scroll", update);
      sizes.disconnect();
    };
  }, [view, rowHeight]);
  return range;
}

function keepCursor(cursor: Cursor, ids: readonly string[], box: HTMLElement | null, rowHeight: number): void {
  const id = cursor.id.peek();
  if (id === null || !box) return;
  const index = ids.indexOf(id);
  if (index < 0) {
    // The row is gone: the one that took its place has the cursor.
    cursor.id.value = ids[Math.min(cursor.index, ids.length - 1)] ?? null;
    return;
  }
  cursor.index = index;
  if (!cursor.byKey) return;
  cursor.byKey = false;
  const top = index * rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight + HEADER > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight + HEADER - box.clientHeight;
}

function GridBody({ height, children }: { height: number; children: VNode[] }) {
  return (
    <div class="grid-body" role="rowgroup" ref={(body) => body?.style.setProperty("height", `${height}px`)}>
      {children}
    </div>
  );
}

interface RowContext<T> {
  props: TableProps<T>;
  columns: readonly Column<T>[];
  cursor: Cursor;
  view: View<T>;
  open: (item: T) => void;
}

interface RowProps {
  id: string;
  index: number;
  height: number;
  context: RowContext<unknown>;
  columns: readonly Column<unknown>[];
}

/** One row. It reads one signal, so that a change of another row does not render it. It has a place of its own, so that rows that stay are not drawn
 * again when others come. */
const GridRow = memo<RowProps>(function GridRow({ id, index, height, context, columns }: RowProps) {
  const { props, cursor } = context;
  const place = (row: HTMLElement | null): void => row?.style.setProperty("top", `${index * height}px`);
  const item = props.source.row(id)?.value;
  const isSelected = useMemo(() => computed(() => props.selection?.value.has(id) ?? false), [id, props.selection]).value;
  const isCurrent = useMemo(() => computed(() => cursor.id.value === id), [id, cursor]).value;
  if (item === undefined) return <div ref={place} class="grid-row ghost" role="row" aria-rowindex={index + 2} />;
  const name = props.nameOf(item);
  const click = (e: MouseEvent): void => {
    cursor.id.value = id;
    if (e.defaultPrevented || (e.target as Element).closest("a, button, input, label, [role=menu]") || getSelection()?.toString()) return;
    if (e.shiftKey && props.selection) cursor.extend(context.view.ids.peek(), id, props.selection);
    else openRow(props, item);
  };
  return (
    <div ref={place} id={`row-${id}`} class={`grid-row${isSelected ? " selected" : ""}${isCurrent ? " current" : ""}${props.onOpen ? " opens" : ""}`} role="row" aria-rowindex={index + 2} aria-selected={props.selection ? isSelected : undefined} onClick={click}>
      {props.selection && (
        <span role="gridcell" class="cell-check">
          <input type="checkbox" class="check" tabIndex={-1} aria-label={t.table.select(name)} checked={isSelected} onClick={(e) => cursor.toggle(context.view.ids.peek(), id, props.selection as Signal<ReadonlySet<string>>, e.shiftKey)} />
        </span>
      )}
      {columns.map((c) => (
        <span key={c.id} role="gridcell" class={`${c.align === "end" ? "cell-end " : ""}${c.phone ? `phone-${c.phone}` : "phone-off"}`}>
          {c.cell(item)}
        </span>
      ))}
      {(props.menuOf || props.actionsOf) && (
        <span role="gridcell" class="cell-actions">
          {props.actionsOf?.(item)}
          {props.menuOf && <MenuButton items={() => props.menuOf?.(item) ?? []} label={t.table.rowMenu(name)} button={{ kind: "quiet", isSmall: true }} />}
        </span>
      )}
    </div>
  );
}, (a, b) => a.id === b.id && a.index === b.index && a.height === b.height && a.columns === b.columns && a.context.props.actionsOf === b.context.props.actionsOf && a.context.props.menuOf === b.context.props.menuOf);
