// The steps of a run as a timeline: what each took, changed and left behind.

import type { ExecutionTrace, StepChange, TaskError, Trace, TraceStep } from "../../api/types.ts";

/** A step of the timeline. */
export interface Step {
  index: number;
  name: string;
  function: string | null;
  target: string | null;
  outcome: "executed" | "failed" | "skipped" | "tolerated";
  /** Milliseconds from the start of the run; null if it is not recorded. */
  start: number | null;
  duration: number | null;
  changes: readonly StepChange[];
  /** The message before and after the step, if it is recorded. */
  before: unknown;
  after: unknown;
  errors: readonly TaskError[];
}

/** The timeline of a run. */
export interface Timeline {
  steps: readonly Step[];
  /** Its length in milliseconds. */
  length: number;
  /** Whether times and messages are recorded. */
  hasDetails: boolean;
  isTruncated: boolean;
  input: ExecutionTrace["input"];
}

/** Returns the errors of the tasks of a run, wherever its mode keeps them. */
export function taskErrors(trace: Trace): TaskError[] {
  const message = trace.message as { errors?: unknown } | null | undefined;
  const found = [trace.errors, message?.errors].find((list) => Array.isArray(list));
  return [...((found as TaskError[] | undefined) ?? [])];
}

/** Returns the name of a step: its task, with the index of an element or the number of the sweep of a loop. */
function nameOf(step: TraceStep): string {
  const name = step.task_id ?? step.workflow_id;
  const number = step.index ?? step.loop_counter;
  return number === undefined ? name : `${name} [${number}]`;
}

/** Takes the errors of a step out of those that are left. A task of a loop has a step for each sweep, in their order. */
function takeErrors(step: TraceStep, left: TaskError[]): TaskError[] {
  if (step.result === "skipped" || step.task_id === null) return [];
  const own: TaskError[] = [];
  for (let index = 0; index < left.length; ) {
    const error = left[index] as TaskError;
    const isOwn = error.task_id === step.task_id && error.index === step.index && (own.length === 0 || step.loop_counter === undefined);
    if (isOwn) own.push(...left.splice(index, 1));
    else index++;
  }
  return own;
}

function outcomeOf(step: TraceStep, errors: readonly TaskError[]): Step["outcome"] {
  if (step.result === "skipped") return "skipped";
  if (step.result === "failed" || errors.some((error) => error.tolerated !== true)) return "failed";
  return errors.length > 0 ? "tolerated" : "executed";
}

/** Returns the timeline of a run. */
export function readTimeline(trace: Trace): Timeline {
  const recorded = (trace.task_trace_json ?? {}) as ExecutionTrace;
  const errors = taskErrors(trace);
  const started = preciseTime(trace.started_at ?? trace.created_at);
  // The steps are those of the first attempt, the start may be that of a later one.
  const begin = Math.min(started, ...(recorded.steps ?? []).flatMap((step) => (step.started_at === undefined ? [] : [preciseTime(step.started_at)])));
  let before: unknown = {};
  const steps = (recorded.steps ?? []).map((step, index): Step => {
    const own = takeErrors(step, errors);
    const after = step.message ?? (step.result === "skipped" ? before : undefined);
    const made: Step = {
      index,
      name: nameOf(step),
      function: step.function ?? null,
      target: step.target ?? null,
      outcome: outcomeOf(step, own),
      start: step.started_at === undefined ? null : preciseTime(step.started_at) - begin,
      duration: step.duration_us === undefined ? null : step.duration_us / 1000,
      changes: step.changes ?? [],
      before,
      after,
      errors: own,
    };
    if (after !== undefined) before = after;
    return made;
  });
  const ends = steps.map((step) => (step.start ?? 0) + (step.duration ?? 0));
  const whole = trace.completed_at === undefined ? 0 : Date.parse(trace.completed_at) - started;
  const hasAttempts = (trace.attempts?.length ?? 0) > 1;
  return {
    steps,
    length: Math.max(0.001, ...ends, hasAttempts ? 0 : (trace.duration_ms ?? whole)),
    hasDetails: steps.some((step) => step.duration !== null),
    isTruncated: recorded.truncated === true,
    input: recorded.input,
  };
}

/** Returns an instant in milliseconds with the microseconds that `Date.parse` drops. */
export function preciseTime(text: string): number {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  const rest = fraction.slice(3, 9);
  return Date.parse(text) + (rest === "" ? 0 : Number(rest) / 10 ** rest.length);
}
