// Lists that are read page by page from one or more sources, and merged by time.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { type ApiProblem, asProblem, isAbort } from "../api/problem.ts";

/** A page of a source, the newest row first. */
export interface Page<T> {
  rows: readonly T[];
  /** The cursor behind its last row, if more may follow. */
  next: string | null;
  /** The instant up to which rows were read, if the search stopped there. */
  scannedUntil?: string | null;
}

/** A source of rows. */
export interface Source<T> {
  name: string;
  load: (cursor: string | null, cancelled: AbortSignal) => Promise<Page<T>>;
}

/** A row as lists of pages need it. */
export interface Timed {
  key: string;
  /** Its instant in milliseconds, by which rows are merged. */
  at: number;
}

/** What has been read of a source. */
export interface SourceState<T> {
  rows: readonly T[];
  next: string | null;
}

/**
 * Merges what has been read of several sources, the newest row first. Rows that are older than the end of a source with
 * more to read are left out, because rows of that source may belong before them.
 */
export function mergeSources<T extends Timed>(states: readonly SourceState<T>[]): T[] {
  const frontier = Math.max(
    -Infinity,
    ...states.filter((state) => state.next !== null).map((state) => state.rows.at(-1)?.at ?? Infinity),
  );
  const rows = states.flatMap((state) => state.rows).filter((row) => row.at >= frontier);
  return rows.sort((a, b) => b.at - a.at || (a.key < b.key ? 1 : a.key > b.key ? -1 : 0));
}

/** Returns the place of the source to read next: the one whose end is the newest. */
export function nextSource<T extends Timed>(states: readonly SourceState<T>[]): number {
  let [best, newest] = [-1, -Infinity];
  for (const [place, { rows, next }] of states.entries()) {
    const end = rows.at(-1)?.at ?? Infinity;
    if (next !== null && end >= newest) [best, newest] = [place, end];
  }
  return best;
}

/** A list that is read page by page. */
export interface PagedList<T> {
  rows: readonly T[];
  problem: ApiProblem | undefined;
  isLoading: boolean;
  hasMore: boolean;
  /** Number of rows that arrived since, and are not shown yet. */
  newCount: number;
  scannedUntil: string | null;
  more: () => Promise<void>;
  reload: () => void;
}

interface State<T> {
  key: string;
  states: readonly SourceState<T>[];
  isLoading: boolean;
  problem?: ApiProblem;
  newCount: number;
  scannedUntil: string | null;
}

/** Returns the new form of a row, or the old one if nothing of it has changed: that is not drawn again. */
const renew = <T>(row: T, fresh: T | undefined): T => (fresh === undefined || JSON.stringify(row) === JSON.stringify(fresh) ? row : fresh);

/** Reads a list as long as the component is shown. Rows in it are brought up to date; new ones are only counted. */
export function usePages<T extends Timed>(key: string, sources: readonly Source<T>[], every: number): PagedList<T> {
  const empty = (): State<T> => ({ key, states: [], isLoading: true, newCount: 0, scannedUntil: null });
  const state = useSignal<State<T>>(empty());
  const latest = useRef(sources);
  latest.current = sources;
  const begin = useRef<() => void>(() => undefined);

  useLayoutEffect(() => {
    let reading = new AbortController();
    const readFirst = (signal: AbortSignal) => Promise.all(latest.current.map((source) => source.load(null, signal)));
    const fail = (signal: AbortSignal) => (thrown: unknown) => {
      if (!signal.aborted && !isAbort(thrown)) state.value = { ...state.value, problem: asProblem(thrown), isLoading: false };
    };
    const start = () => {
      reading.abort();
      reading = new AbortController();
      const { signal } = reading;
      state.value = { ...(state.value.key === key ? state.value : empty()), isLoading: true };
      readFirst(signal).then((pages) => {
        if (signal.aborted) return;
        const scannedUntil = pages.find((page) => page.scannedUntil)?.scannedUntil ?? null;
        state.value = { key, states: pages.map(({ rows, next }) => ({ rows, next })), isLoading: false, newCount: 0, scannedUntil };
      }, fail(signal));
    };
    const refresh = () => {
      if (document.hidden || state.value.isLoading || state.value.key !== key) return;
      const { signal } = reading;
      readFirst(signal).then((pages) => {
        if (signal.aborted || state.value.isLoading) return;
        const fresh = new Map(pages.flatMap((page) => page.rows).map((row) => [row.key, row]));
        const known = new Set(state.value.states.flatMap((source) => source.rows.map((row) => row.key)));
        const states = state.value.states.map((source) => ({ ...source, rows: source.rows.map((row) => renew(row, fresh.get(row.key))) }));
        const newCount = [...fresh.keys()].filter((name) => !known.has(name)).length;
        const { problem: _, ...rest } = state.value;
        state.value = { ...rest, states, newCount };
      }, fail(signal));
    };
    begin.current = start;
    start();
    const timer = setInterval(refresh, every);
    return () => {
      reading.abort();
      clearInterval(timer);
    };
  }, [key, every]);

  const more = async () => {
    const { states } = state.value;
    const place = nextSource(states);
    const source = states[place];
    if (source === undefined) return;
    const page = await (latest.current[place] as Source<T>).load(source.next, new AbortController().signal);
    if (state.value.key !== key) return;
    const grown = { rows: [...source.rows, ...page.rows], next: page.next };
    const scannedUntil = page.scannedUntil ?? null;
    state.value = { ...state.value, scannedUntil, states: state.value.states.map((other, index) => (index === place ? grown : other)) };
  };
  const current = state.value.key === key ? state.value : empty();
  return {
    rows: useMemo(() => mergeSources(current.states), [current.states]),
    problem: current.problem,
    isLoading: current.isLoading,
    hasMore: current.states.some((source) => source.next !== null),
    newCount: current.newCount,
    scannedUntil: current.scannedUntil,
    more,
    reload: () => begin.current(),
  };
}
