// The tasks of a workflow as a graph: what follows what, and under which condition.

import type { PathPart } from "../../core/definitions/places.ts";

/** A task or a group of a workflow. */
export interface Task {
  id: string;
  name: string;
  /** Its function; null for a group. */
  function: string | null;
  /** The connector or channel that it names. */
  target: string | null;
  hasCondition: boolean;
  isTerminal: boolean;
  isTolerant: boolean;
  /** It runs for each element of a list. */
  isFanOut: boolean;
  /** Its members run at once. */
  isParallel: boolean;
  /** Its place in the source, such as `tasks`, 1, `tasks`, 0. */
  path: readonly PathPart[];
  source: unknown;
  members: readonly Task[];
  /** The tasks that run where a member failed, and those that run after it, failed or not. */
  onError: readonly Task[];
  last: readonly Task[];
}

/** An edge of the graph: `then` where a condition is true, `else` where it is not, `failed` where a member failed. */
export interface Flow {
  from: string;
  to: string;
  kind: "next" | "then" | "else" | "failed" | "again";
}

/** The graph of a workflow. */
export interface TaskGraph {
  /** All tasks and groups in the order in which they run. */
  tasks: readonly Task[];
  flows: readonly Flow[];
  loop: Record<string, unknown> | null;
}

/** The nodes before the first task and behind the last one. */
export const START = " start";
export const END = " end";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

function targetOf(input: unknown): string | null {
  if (!isObject(input)) return null;
  return textOf(input["connector"]) ?? textOf(input["channel"]) ?? textOf(input["topic"]);
}

/** Reads the tasks of a list, those of groups within them. */
export function readTasks(list: unknown, place: readonly PathPart[] = ["tasks"]): Task[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).map((source, index): Task => {
    const call = isObject(source["function"]) ? source["function"] : {};
    const path = [...place, index];
    const isGroup = Array.isArray(source["tasks"]);
    const condition = source["condition"];
    const id = textOf(source["id"]) ?? path.join(" ");
    return {
      id,
      name: textOf(source["name"]) || id,
      function: isGroup ? null : (textOf(call["name"]) ?? "?"),
      target: targetOf(call["input"]),
      hasCondition: condition !== undefined && condition !== true && condition !== null,
      isTerminal: source["terminal"] === true,
      isTolerant: source["continue_on_error"] === true,
      isFanOut: isObject(source["for_each"]),
      isParallel: isGroup && source["parallel"] === true,
      path,
      source,
      members: isGroup ? readTasks(source["tasks"], [...path, "tasks"]) : [],
      onError: isGroup ? readTasks(source["on_error"], [...path, "on_error"]) : [],
      last: isGroup ? readTasks(source["finally"], [...path, "finally"]) : [],
    };
  });
}

/** Returns tasks with those of groups behind their group. */
export function flatten(tasks: readonly Task[]): Task[] {
  return tasks.flatMap((task) => [task, ...flatten(task.members), ...flatten(task.onError), ...flatten(task.last)]);
}

/** An end of what has been drawn, from which the next edge leaves. */
interface Loose {
  from: string;
  kind: Flow["kind"];
}

/** Connects the members of a group, and what follows them. */
function connectMembers(group: Task, flows: Flow[]): Loose[] {
  const entry: Loose[] = [{ from: group.id, kind: group.hasCondition ? "then" : "next" }];
  const ends = group.isParallel ? group.members.flatMap((member) => connect([member], entry, flows)) : connect(group.members, entry, flows);
  const caught = connect(group.onError, [{ from: group.id, kind: "failed" }], flows);
  return connect(group.last, group.onError.length > 0 ? [...ends, ...caught] : ends, flows);
}

function connect(tasks: readonly Task[], entry: readonly Loose[], flows: Flow[]): Loose[] {
  let loose = [...entry];
  for (const task of tasks) {
    for (const end of loose) flows.push({ from: end.from, to: task.id, kind: end.kind });
    const inner = task.members.length === 0 ? [{ from: task.id, kind: "next" as const }] : connectMembers(task, flows);
    const passed: Loose[] = task.members.length > 0 && task.hasCondition ? [{ from: task.id, kind: "else" }] : [];
    if (!task.isTerminal) loose = [...inner, ...passed];
    else {
      for (const end of inner) flows.push({ from: end.from, to: END, kind: task.members.length === 0 && task.hasCondition ? "then" : end.kind });
      // A task that is skipped ends nothing.
      loose = task.members.length > 0 ? passed : task.hasCondition ? [{ from: task.id, kind: "else" }] : [];
    }
  }
  return loose;
}

/** Returns the graph of a workflow. */
export function graphOf(workflow: { tasks?: unknown; loop?: unknown }): TaskGraph {
  const loop = isObject(workflow.loop) ? workflow.loop : null;
  const setup = readTasks(loop?.["setup"], ["loop", "setup"]);
  const tree = readTasks(workflow.tasks);
  const flows: Flow[] = [];
  for (const end of connect([...setup, ...tree], [{ from: START, kind: "next" }], flows)) flows.push({ from: end.from, to: END, kind: end.kind });
  const first = tree[0];
  if (loop !== null && first !== undefined) flows.push({ from: END, to: first.id, kind: "again" });
  return { tasks: flatten([...setup, ...tree]), flows, loop };
}


/** Returns failures by task, summed over their causes. */
export function failuresByTask(groups: readonly { task: string | null; count: number }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { task, count } of groups) if (task !== null) counts.set(task, (counts.get(task) ?? 0) + count);
  return counts;
}

/** What a trial did at each task: a task of a loop has the worst of its outcomes, a group is entered if a member was. */
export function outcomesByTask(
  tasks: readonly Task[],
  steps: readonly { task_id: string | null; result: string }[],
  failed: ReadonlySet<string>,
): Map<string, string> {
  const order = ["skipped", "executed", "failed"];
  const outcomes = new Map<string, string>();
  for (const step of steps) {
    if (step.task_id === null) continue;
    const outcome = failed.has(step.task_id) && step.result !== "skipped" ? "failed" : step.result;
    const known = outcomes.get(step.task_id);
    if (known === undefined || order.indexOf(outcome) > order.indexOf(known)) outcomes.set(step.task_id, outcome);
  }
  for (const group of tasks.filter((task) => task.members.length > 0)) {
    const inner = flatten(group.members).flatMap((task) => outcomes.get(task.id) ?? []);
    if (inner.length > 0) outcomes.set(group.id, inner.some((outcome) => outcome !== "skipped") ? "executed" : "skipped");
  }
  return outcomes;
}
