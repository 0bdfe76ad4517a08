// The actions on many runs: which there are for a kind of rows, and the requests that carry them out.

import { act, api, read } from "../../api/client.ts";
import type { BulkDryRun, BulkRequest } from "../../api/types.ts";
import { texts } from "../../texts.ts";
import type { IconName } from "../../ui/icons.tsx";
import type { RunRow } from "./rows.ts";
import { type Kind, TRACE_STATUSES, WITHOUT_TRACE } from "./words.ts";

/** An action on many rows. */
export interface BulkAction {
  kind: BulkRequest["kind"];
  action: BulkRequest["action"];
  icon: IconName;
  isDanger?: boolean;
}

const REQUEUE: BulkAction = { kind: "dead_letters", action: "requeue", icon: "rerun" };
const PURGE: BulkAction = { kind: "dead_letters", action: "purge", icon: "trash", isDanger: true };
const RERUN: BulkAction = { kind: "traces", action: "rerun", icon: "play" };
const CANCEL: BulkAction = { kind: "traces", action: "cancel", icon: "stop", isDanger: true };
const RETRY: BulkAction = { kind: "occurrences", action: "retry", icon: "rerun" };
const STOP: BulkAction = { kind: "occurrences", action: "cancel", icon: "stop", isDanger: true };

const ACTIONS: Record<Kind, readonly BulkAction[]> = {
  all: [REQUEUE, RETRY, RERUN, CANCEL],
  traces: [RERUN, CANCEL],
  occurrences: [RETRY, STOP],
  dead_letters: [REQUEUE, PURGE],
};

/** Returns the actions for a kind of rows. */
export function actionsOf(kind: Kind): readonly BulkAction[] {
  return ACTIONS[kind];
}

const WORDS = ["channel", "tag", "workflow", "task", "error_code", "error_group", "since", "until", "trace_id", "version"];
const OF_TRACES = ["mode", "status", "min_duration_ms", "request_id", "run_key", "rerun_of"];
const OF_OCCURRENCES = ["status", "run_key"];

/**
 * Returns which dead letters the statuses of a list name: those without a retry left, those with one, or both. Failed runs
 * are those whose letters have none. Null if they name other rows too.
 */
function readExhausted(statuses: readonly string[], kind: Kind): "true" | "false" | "both" | null {
  const withoutRetry = kind === "dead_letters" ? "exhausted" : "failed";
  if (statuses.some((status) => status !== withoutRetry && status !== "retrying")) return null;
  if (statuses.length > 1) return "both";
  return statuses[0] === withoutRetry ? "true" : "false";
}

/**
 * Returns the filter of an action for the filter of the list; null if the list is filtered by a word that the rows of the
 * action do not have, because the action would then meet more than the list shows.
 */
export function actionFilter(action: BulkAction, kind: Kind, filter: Readonly<Record<string, string>>): Record<string, string | string[]> | null {
  const known = new Set([...WORDS, ...(action.kind === "traces" ? OF_TRACES : action.kind === "occurrences" ? OF_OCCURRENCES : ["status"])]);
  const result: Record<string, string | string[]> = {};
  for (const [word, text] of Object.entries(filter)) {
    if (!known.has(word)) return null;
    if (word === "status" && action.kind === "dead_letters") {
      const exhausted = readExhausted(text.split(","), kind);
      if (exhausted === null) return null;
      if (exhausted !== "both") result["exhausted"] = exhausted;
      continue;
    }
    if (word === "status" && kind === "all") {
      const known = action.kind === "traces" ? TRACE_STATUSES : WITHOUT_TRACE;
      const fitting = text.split(",").filter((status) => (known as readonly string[]).includes(status) || (action.kind === "occurrences" && status === "failed"));
      if (fitting.length === 0) return null;
      result[word] = fitting;
      continue;
    }
    result[word] = text.includes(",") ? text.split(",") : text;
  }
  return result;
}

/** Returns the filter that selects rows by their traces, for rows that have one. */
export function selectionFilter(rows: readonly RunRow[]): Record<string, string[]> {
  return { trace_id: rows.flatMap((row) => (row.traceId === null ? [] : [row.traceId])) };
}

/** Counts what an action would meet. */
export async function previewAction(action: BulkAction, filter: BulkRequest["filter"], cancelled: AbortSignal): Promise<BulkDryRun> {
  const body = { kind: action.kind, action: action.action, filter, dry_run: true } as BulkRequest;
  const answer = await read(api.POST("/api/v1/admin/bulk", { body, signal: cancelled }));
  return answer.data as BulkDryRun;
}

/** Starts an action on everything that matches. Returns the id of the bulk run. */
export async function startAction(action: BulkAction, filter: BulkRequest["filter"], rate: number): Promise<string> {
  const body = { kind: action.kind, action: action.action, filter, rate_per_second: rate } as BulkRequest;
  const { body: answer } = await act(texts.runs.started[action.action], api.POST("/api/v1/admin/bulk", { body }));
  return (answer.data as { id: string }).id;
}

/** Carries out an action on chosen occurrences, one after the other: they have no trace by which a filter could name them. */
export async function actOnOccurrences(action: BulkAction, rows: readonly RunRow[]): Promise<void> {
  for (const row of rows) {
    const params = { path: { id: row.id } };
    const name = `${row.channel} ${row.time}`;
    if (action.action === "retry") await act(texts.runs.retried(name), api.POST("/api/v1/admin/cron/occurrences/{id}/retry", { params }));
    else await act(texts.runs.cancelled(name), api.POST("/api/v1/admin/cron/occurrences/{id}/cancel", { params }));
  }
}
