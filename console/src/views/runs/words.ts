// The words by which runs are filtered, for each kind of rows.

import { cliOptions, type FilterWord } from "../../core/filters.ts";
import { texts } from "../../texts.ts";

/** The kinds of rows: all of them in one list, or one kind. */
export const KINDS = ["all", "traces", "occurrences", "dead_letters"] as const;

/** A kind of rows. */
export type Kind = (typeof KINDS)[number];

const hints = texts.runs.words;

/** The statuses of traces. */
export const TRACE_STATUSES = ["failed", "running", "retrying", "pending", "scheduled", "completed", "cancelled"] as const;

/** The statuses of occurrences that have no run, and so no trace. */
export const WITHOUT_TRACE = ["pending", "claimed", "skipped_misfire", "skipped_singleton"] as const;

const OCCURRENCE_STATUSES = ["failed", "running", "claimed", "pending", "completed", "skipped_misfire", "skipped_singleton", "cancelled"];
const ALL_STATUSES = [...TRACE_STATUSES, "claimed", "skipped_misfire", "skipped_singleton"];

const word = (name: keyof typeof hints, more: Partial<FilterWord> = {}): FilterWord => ({ name, hint: hints[name], ...more });
const SINGLE = { several: false };
const AGO = ["-15m", "-1h", "-6h", "-24h", "-7d"];

const COMMON = [
  word("channel"), word("tag", SINGLE), word("workflow"), word("task"), word("error_code"), word("error_group"),
  word("since", { ...SINGLE, values: AGO }), word("until", SINGLE), word("trace_id"),
];
const TRACES = [
  word("mode", { values: ["sync", "async", "kafka", "cron"] }),
  word("version"), word("min_duration_ms", SINGLE), word("request_id"), word("run_key"), word("rerun_of"),
];

/** Returns the words of a kind. */
export function wordsOf(kind: Kind): readonly FilterWord[] {
  const status = { all: ALL_STATUSES, traces: TRACE_STATUSES, occurrences: OCCURRENCE_STATUSES, dead_letters: ["retrying", "exhausted"] }[kind];
  const own = { all: TRACES, traces: TRACES, occurrences: [word("version"), word("run_key")], dead_letters: [word("version")] }[kind];
  return [word("status", { values: status }), ...COMMON, ...own];
}

/** Words of traces that occurrences do not take: with one of them the list has no occurrences. */
const NOT_OF_OCCURRENCES = ["mode", "min_duration_ms", "request_id", "rerun_of"];

/** Returns the filter of each source for the filter of a list; null leaves the source out. */
export function splitFilter(
  kind: Kind,
  filter: Readonly<Record<string, string>>,
): { traces: Record<string, string> | null; occurrences: Record<string, string> | null; deadLetters: Record<string, string> | null } {
  const none = { traces: null, occurrences: null, deadLetters: null };
  const { status, ...rest } = filter;
  if (kind === "occurrences") return { ...none, occurrences: { ...filter } };
  if (kind === "traces") return { ...none, traces: { ...filter } };
  if (kind === "dead_letters") {
    return { ...none, deadLetters: status === undefined || status.includes(",") ? rest : { ...rest, exhausted: String(status === "exhausted") } };
  }
  const chosen = status?.split(",");
  const pick = (known: readonly string[]) => (chosen === undefined ? undefined : chosen.filter((value) => known.includes(value)).join(","));
  const ofTraces = pick(TRACE_STATUSES);
  const ofOccurrences = pick(WITHOUT_TRACE) ?? WITHOUT_TRACE.join(",");
  const takesOccurrences = ofOccurrences !== "" && !NOT_OF_OCCURRENCES.some((name) => name in filter);
  return {
    ...none,
    traces: ofTraces === "" ? null : { ...rest, ...(ofTraces === undefined ? {} : { status: ofTraces }) },
    occurrences: takesOccurrences ? { ...rest, status: ofOccurrences } : null,
  };
}

/** Returns the command of `svc-cli` that lists the same: of the runs where a list has several sources. */
export function listCommand(kind: Kind, filter: Readonly<Record<string, string>>): string {
  const { traces, occurrences, deadLetters } = splitFilter(kind, filter);
  const [list, words] = traces !== null ? ["traces", traces] : occurrences !== null ? ["cron", occurrences] : ["dlq", deadLetters ?? {}];
  return `svc-cli ${list} list ${cliOptions(words)}`.trim();
}
