// Tables of any length: only the rows in sight are drawn. Keys: j and k move, Enter opens, x selects.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Signal, useSignal } from "@preact/signals";
import { useKeys } from "../core/keys.ts";
import { visit } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { Skeleton } from "./content.tsx";

/** A column. */
export interface Column<T> {
  name: string;
  title: string;
  /** Its width in CSS; columns without one share the rest. */
  width?: string;
  /** Whether its cells stand at the end of it, as numbers do. */
  isNumber?: boolean;
  /** 2 leaves it out on narrow screens, 3 on all but wide ones. */
  rank?: 1 | 2 | 3;
  cell: (row: T) => ComponentChildren;
}

/** A table. */
export interface TableProps<T> {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  columns: readonly Column<T>[];
  /** The address of a row; its first cell is a link to it. */
  rowAddress?: (row: T) => string;
  /** Keys of the selected rows, in a list whose rows can be selected. */
  selection?: Signal<ReadonlySet<string>>;
  isLoading?: boolean;
  /** What is shown if there is no row. */
  empty: ComponentChildren;
  /** The failure to read the rows: without them nothing is known, so `empty` is not shown. */
  problem?: unknown;
  /** Rows that arrived since: they are announced, and shown on demand. */
  news?: { count: number; show: () => void };
  /** Reads further rows. */
  more?: (() => void | Promise<unknown>) | null;
  /** A text under the last row. */
  note?: ComponentChildren;
  /** Whether it grows with its rows, within a view that scrolls as a whole. */
  isFree?: boolean;
}

/** Rows that are drawn above and below those in sight. */
const MARGIN = 10;
/** Number of rows up to which all are drawn. */
const DRAWN_WHOLE = 50;

const RANKS = { 1: "", 2: "wide-only", 3: "very-wide-only" } as const;
const cellClass = <T,>(column: Column<T>) => `${RANKS[column.rank ?? 1]}${column.isNumber ? " end number" : ""}`;

/** A table with a head that stays. */
export function Table<T>(props: TableProps<T>) {
  const { rows, columns, rowKey, selection } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 800, row: 37 });
  const current = useSignal(-1);
  const wantsFocus = useRef(false);

  const measure = () => {
    const box = scroller.current;
    if (box === null) return;
    const row = box.querySelector<HTMLElement>("tr[data-row]")?.offsetHeight ?? view.value.row;
    view.value = { top: box.scrollTop, height: box.clientHeight, row };
  };
  useLayoutEffect(measure, [rows.length]);
  useEffect(() => {
    if (scroller.current === null) return;
    const watcher = new ResizeObserver(measure);
    watcher.observe(scroller.current);
    return () => watcher.disconnect();
  }, []);

  const isWhole = rows.length <= DRAWN_WHOLE || props.isFree === true;
  const { top, height, row } = view.value;
  const first = isWhole ? 0 : Math.max(0, Math.floor(top / row) - MARGIN);
  const last = isWhole ? rows.length : Math.min(rows.length, Math.ceil((top + height) / row) + MARGIN);

  // Before the next event: the key behind `j` is for the row that it chose.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const element = scroller.current?.querySelector<HTMLElement>(`tr[data-row="${current.value}"]`);
    element?.scrollIntoView({ block: "nearest" });
    (element?.querySelector<HTMLElement>("a") ?? element?.querySelector<HTMLElement>("button, input"))?.focus({ preventScroll: true });
  });

  const move = (to: number) => {
    if (rows.length === 0) return;
    const next = Math.max(0, Math.min(rows.length - 1, to));
    const box = scroller.current;
    if (box !== null && !isWhole) {
      if (next * row < box.scrollTop) box.scrollTop = next * row;
      else if ((next + 2) * row > box.scrollTop + box.clientHeight) box.scrollTop = (next + 2) * row - box.clientHeight;
    }
    wantsFocus.current = true;
    current.value = next;
    measure();
  };
  const open = (at: number) => {
    const item = rows[at];
    if (item !== undefined && props.rowAddress !== undefined) visit(props.rowAddress(item));
  };
  const toggle = (at: number) => {
    const item = rows[at];
    if (item === undefined || selection === undefined) return;
    const chosen = new Set(selection.value);
    if (!chosen.delete(rowKey(item))) chosen.add(rowKey(item));
    selection.value = chosen;
  };
  const acts = useRef({ toggle, open });
  acts.current = { toggle, open };
  const group = texts.keys.groups.list;
  useKeys([
    { keys: "j", does: texts.keys.next, group, run: () => move(current.value + 1) },
    { keys: "k", does: texts.keys.previous, group, run: () => move(current.value - 1) },
    ...(props.rowAddress ? [{ keys: "o", does: texts.keys.open, group, run: () => open(current.value) }] : []),
    ...(selection ? [{ keys: "x", does: texts.keys.select, group, run: () => toggle(current.value) }] : []),
  ]);

  const areAllChosen = selection !== undefined && rows.length > 0 && rows.every((item) => selection.value.has(rowKey(item)));
  const chooseAll = () => {
    if (selection !== undefined) selection.value = areAllChosen ? new Set() : new Set(rows.map(rowKey));
  };
  return (
    <div class={`table-scroller${props.isFree ? " free" : ""}`} ref={scroller} onScroll={measure} tabIndex={rows.length === 0 ? undefined : 0} role="region" aria-label={props.label}>
      {props.news !== undefined && props.news.count > 0 && (
        <div class="news">
          <Button onClick={props.news.show}>{texts.live.news(props.news.count)}</Button>
        </div>
      )}
      <table class="table" aria-label={props.label} aria-rowcount={rows.length + 1} aria-busy={props.isLoading}>
        <thead>
          <tr aria-rowindex={1}>
            {selection && (
              <th class="pick" scope="col">
                <input type="checkbox" aria-label={texts.table.selectAll} checked={areAllChosen} onChange={chooseAll} />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.name} scope="col" class={cellClass(column)} style={column.width === undefined ? undefined : { width: column.width }}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {/* Of one column: a cell over several would bring back the columns that a narrow page hides. */}
          {first > 0 && (
            <tr class="spacer" aria-hidden="true">
              <td style={{ height: `${first * row}px` }} />
            </tr>
          )}
          {rows.slice(first, last).map((item, offset) => (
            <TableRow
              key={rowKey(item)}
              name={rowKey(item)}
              item={item}
              at={first + offset}
              address={props.rowAddress?.(item)}
              columns={columns}
              selection={selection}
              current={current}
              acts={acts}
            />
          ))}
          {last < rows.length && (
            <tr class="spacer" aria-hidden="true">
              <td style={{ height: `${(rows.length - last) * row}px` }} />
            </tr>
          )}
        </tbody>
      </table>
      {rows.length === 0 && (props.isLoading ? <div class="table-note"><Skeleton lines={4} /></div> : !props.problem && props.empty)}
      {rows.length > 0 && (props.more || props.note) && (
        <div class="table-note">
          {props.note}
          {props.more && <Button onClick={props.more}>{texts.table.more}</Button>}
        </div>
      )}
    </div>
  );
}

// Of the same values a row is not drawn again, so none of them is made for each drawing of the table.
interface RowProps<T> {
  name: string;
  item: T;
  at: number;
  address: string | undefined;
  columns: readonly Column<T>[];
  selection: Signal<ReadonlySet<string>> | undefined;
  current: Signal<number>;
  acts: { current: { toggle: (at: number) => void; open: (at: number) => void } };
}

function TableRow<T>({ name, item, at, address, columns, selection, current, acts }: RowProps<T>) {
  const isChosen = selection?.value.has(name) ?? false;
  const click = (event: MouseEvent) => {
    current.value = at;
    const isOnControl = event.target instanceof Element && event.target.closest("a, button, input, label") !== null;
    if (isOnControl || (window.getSelection()?.toString() ?? "") !== "") return;
    if (event.metaKey || event.ctrlKey) acts.current.toggle(at);
    else acts.current.open(at);
  };
  return (
    <tr data-row={at} aria-rowindex={at + 2} aria-selected={selection ? isChosen : undefined} class={current.value === at ? "current" : ""} onClick={click}>
      {selection && (
        <td class="pick">
          <label class="check-area">
            <input type="checkbox" aria-label={texts.table.selectRow(name)} checked={isChosen} onChange={() => acts.current.toggle(at)} />
          </label>
        </td>
      )}
      {columns.map((column, index) => (
        <td key={column.name} class={cellClass(column)}>
          {index === 0 && address !== undefined ? <a href={address}>{column.cell(item)}</a> : column.cell(item)}
        </td>
      ))}
    </tr>
  );
}
