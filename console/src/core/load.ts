// What a view reads: kept while it is read anew, so that going back is instant.

import { useLayoutEffect, useRef } from "preact/hooks";
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { type ApiProblem, asProblem, isAbort } from "../api/problem.ts";

/** What is known about something that is read. */
export interface Loaded<T> {
  /** The newest answer, which may be older than `problem`. */
  data: T | undefined;
  problem: ApiProblem | undefined;
  isLoading: boolean;
  /** The instant of the answer, in milliseconds. */
  at: number;
  reload: () => void;
}

/** How something is kept up to date. */
export interface LoadOptions {
  /** Milliseconds after which it is read again while the tab is visible. */
  every?: number;
  /** A signal at whose changes it is read again. */
  on?: ReadonlySignal<unknown>;
  /** Whether the answer for another key is shown until there is one for this key. */
  keep?: boolean;
}

const MOST_KEPT = 60;
const kept = new Map<string, { data: unknown; at: number }>();

function keep(key: string, data: unknown): void {
  kept.delete(key);
  kept.set(key, { data, at: Date.now() });
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
}

/** Forgets every answer, because another person signs in. */
export function forgetAnswers(): void {
  kept.clear();
}

/** Reads something as long as the component is shown. A null key reads nothing. */
export function useLoad<T>(
  key: string | null,
  load: (cancelled: AbortSignal) => Promise<T>,
  options: LoadOptions = {},
): Loaded<T> {
  const state = useSignal<{ key: string | null; data: T | undefined; problem?: ApiProblem; isLoading: boolean; at: number }>(
    { key: null, data: undefined, isLoading: false, at: 0 },
  );
  const latest = useRef(load);
  latest.current = load;
  const reload = useRef<() => void>(() => undefined);

  // Before the first paint: what is read is under way while the page is drawn.
  useLayoutEffect(() => {
    if (key === null) {
      state.value = { key, data: undefined, isLoading: false, at: 0 };
      return;
    }
    const known = kept.get(key);
    const shown = known ?? (options.keep ? { data: state.value.data, at: state.value.at } : { data: undefined, at: 0 });
    state.value = { key, data: shown.data as T | undefined, isLoading: true, at: shown.at };
    let running: AbortController | null = null;
    const start = (isQuiet = false) => {
      running?.abort();
      const mine = new AbortController();
      running = mine;
      if (!state.value.isLoading && !isQuiet) state.value = { ...state.value, isLoading: true };
      // Reading a long answer and drawing it are two tasks.
      const rest = (data: T) => (isQuiet ? new Promise<T>((resolve) => setTimeout(resolve, 0, data)) : data);
      latest.current(mine.signal).then(rest).then(
        (data) => {
          if (mine.signal.aborted) return;
          keep(key, data);
          state.value = { key, data, isLoading: false, at: Date.now() };
        },
        (thrown: unknown) => {
          if (mine.signal.aborted || isAbort(thrown)) return;
          state.value = { ...state.value, problem: asProblem(thrown), isLoading: false };
        },
      );
    };
    reload.current = start;
    start();
    const timer = options.every === undefined ? undefined : setInterval(() => document.hidden || start(true), options.every);
    let isFirst = true;
    const stop = options.on?.subscribe(() => {
      if (!isFirst && !document.hidden) start(true);
      isFirst = false;
    });
    return () => {
      running?.abort();
      clearInterval(timer);
      stop?.();
    };
  }, [key, options.every, options.on]);

  const { data, problem, isLoading, at } = state.value;
  // An effect runs after the drawing: until then the answer of the key before must not pass for this one.
  const isOther = state.value.key !== key;
  const other = isOther && key !== null ? kept.get(key) : undefined;
  return {
    data: isOther && !options.keep ? (other?.data as T | undefined) : data,
    problem: isOther ? undefined : problem,
    isLoading: isLoading || (isOther && key !== null),
    at,
    reload: () => reload.current(),
  };
}

