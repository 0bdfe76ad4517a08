// The rows of the list of runs: traces, occurrences and dead letters in one form.

import type { DeadLetterSummary, OccurrenceSummary, TraceSummary } from "../../api/types.ts";
import type { Timed } from "../../core/pages.ts";
import { fillPath } from "../../core/router.ts";

/** A row of the list. */
export interface RunRow extends Timed {
  kind: "trace" | "occurrence" | "dead_letter";
  id: string;
  /** The path of its view. */
  path: string;
  status: string;
  channel: string;
  mode: string;
  workflow: string | null;
  version: number | null;
  errorCode: string | null;
  error: string | null;
  durationMs: number | null;
  attempt: number;
  /** The instant of the row as text. */
  time: string;
  traceId: string | null;
}

/** Returns the row of a trace. A run that completed although a task failed has a state of its own. */
export function traceRow(trace: TraceSummary): RunRow {
  const isTolerated = trace.status === "completed" && trace.error_code !== null;
  return {
    key: trace.id,
    at: Date.parse(trace.created_at),
    kind: "trace",
    id: trace.id,
    path: fillPath("/runs/:id", { id: trace.id }),
    status: isTolerated ? "tolerated" : trace.status,
    channel: trace.channel,
    mode: trace.mode,
    workflow: trace.workflow_id,
    version: trace.workflow_version,
    errorCode: trace.error_code,
    error: trace.error_message,
    durationMs: trace.duration_ms,
    attempt: trace.attempt,
    time: trace.created_at,
    traceId: trace.id,
  };
}

/** Returns the row of an occurrence. */
export function occurrenceRow(occurrence: OccurrenceSummary): RunRow {
  const { started_at: started, completed_at: completed } = occurrence;
  return {
    key: `occurrence ${occurrence.id}`,
    at: Date.parse(occurrence.created_at),
    kind: "occurrence",
    id: occurrence.id,
    path: fillPath("/occurrences/:id", { id: occurrence.id }),
    status: occurrence.status,
    channel: occurrence.channel_name,
    mode: occurrence.trigger,
    workflow: null,
    version: null,
    errorCode: null,
    error: null,
    durationMs: started !== null && completed !== null ? Date.parse(completed) - Date.parse(started) : null,
    attempt: occurrence.attempt,
    time: occurrence.scheduled_for,
    traceId: null,
  };
}

/** Returns the row of a dead letter. */
export function deadLetterRow(letter: DeadLetterSummary): RunRow {
  return {
    key: `letter ${letter.id}`,
    at: Date.parse(letter.created_at),
    kind: "dead_letter",
    id: letter.id,
    path: fillPath("/runs/:id", { id: letter.attempt_of ?? letter.trace_id }),
    status: letter.next_retry_at === null ? "exhausted" : "retrying",
    channel: letter.channel,
    mode: "async",
    workflow: null,
    version: null,
    errorCode: null,
    error: letter.error_message,
    durationMs: null,
    attempt: letter.retry_count + 1,
    time: letter.created_at,
    traceId: letter.trace_id,
  };
}
