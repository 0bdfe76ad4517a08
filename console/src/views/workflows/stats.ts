// How often each task of a version ran on the node that answers, and how long it took.

import type { WorkflowStats } from "../../api/types.ts";

/** The counts of a task as the graph shows them. */
export interface TaskFigures {
  runs: number;
  errors: number;
  /** Runs a second since the look before; 0 at the first look. */
  rate: number;
  /** Milliseconds; null before the first run. */
  mean: number | null;
}

/** A look at the counts. */
export interface Look {
  at: number;
  stats: WorkflowStats;
}

/** Returns the figures of the tasks from a look and the one before. */
export function figuresOfTasks(look: Look, before: Look | null): Map<string, TaskFigures> {
  const { stats } = look;
  // A node or a version that began anew counts from 0.
  const isSame = before !== null && before.at < look.at && before.stats.node === stats.node && before.stats.version === stats.version && before.stats.since === stats.since;
  const old = new Map(isSame ? before.stats.tasks.map((task) => [task.task, task.runs]) : []);
  const seconds = isSame ? (look.at - before.at) / 1000 : 1;
  return new Map(
    stats.tasks.map(({ task, runs, errors, total_ms: total }) => {
      const rate = Math.max(0, runs - (old.get(task) ?? runs)) / seconds;
      return [task, { runs, errors, rate, mean: runs === 0 ? null : total / runs }];
    }),
  );
}
