// A view that is a list: the box that searches it, the failure to read it, and its table.

import type { ComponentChildren } from "preact";
import { query, setQuery } from "../core/router.ts";
import { LoadProblem, type Readable, ViewHead } from "./content.tsx";
import { Table, type TableProps } from "./table.tsx";

/** The box that searches a list. Its text is the member `q` of the state of the view. */
export function SearchBox({ label, class: own = "" }: { label: string; class?: string }) {
  return (
    <input
      class={`input ${own}`}
      type="search"
      aria-label={label}
      placeholder={label}
      value={query("q")}
      onInput={(event) => setQuery({ q: event.currentTarget.value }, { replace: true })}
    />
  );
}

/** A table of what was read, below the failure to read it. */
export interface ListTableProps<T> extends Omit<TableProps<T>, "isLoading" | "problem"> {
  list: Readable;
}

/** The failure to read a list, and its table. Rows that were read before stay. */
export function ListTable<T>({ list, ...table }: ListTableProps<T>) {
  return (
    <>
      {list.problem && (
        <div class="panel-body">
          <LoadProblem of={list} />
        </div>
      )}
      <Table {...table} isLoading={list.isLoading && list.data === undefined} problem={list.problem} />
    </>
  );
}

/** A view that is a list, and nothing more. */
export interface ListViewProps<T> extends Omit<ListTableProps<T>, "label"> {
  title: string;
  /** What follows the title. */
  headNote?: ComponentChildren;
  /** The label of the box that searches the list, if it has one. */
  search?: string;
  /** The acts of the view. */
  actions?: ComponentChildren;
  /** What is above the rows, such as filters. */
  above?: ComponentChildren;
}

/** The head of a view, and a list that scrolls by itself. */
export function ListView<T>({ title, headNote, search, actions, above, ...table }: ListViewProps<T>) {
  return (
    <>
      <ViewHead title={title} note={headNote}>
        {search !== undefined && <SearchBox label={search} />}
        {actions}
      </ViewHead>
      <div class="view-body flush">
        {above}
        <ListTable {...table} label={title} />
      </div>
    </>
  );
}
