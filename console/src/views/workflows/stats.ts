// How often each task of a workflow ran on the node that answers, and how long it took.

/** The counts of a task since the start of the node. */
export interface TaskCount {
  task: string;
  function: string;
  count: number;
  total_ms: number;
}

/** The counts of a workflow on one node. */
export interface WorkflowStats {
  workflow_id: string;
  node: string;
  /** Seconds since the start of the node. */
  uptime_secs: number;
  tasks: readonly TaskCount[];
}

/** The figures of a task as the graph shows them. */
export interface TaskFigures {
  count: number;
  /** Runs a second since the look before; 0 at the first look. */
  rate: number;
  mean_ms: number | null;
}

/** A look at the counts. */
export interface Look {
  at: number;
  stats: WorkflowStats;
}

/** Returns the figures of the tasks from a look and the one before. */
export function figuresOfTasks(look: Look, before: Look | null): Map<string, TaskFigures> {
  const isSame = before !== null && before.stats.node === look.stats.node && before.at < look.at;
  const old = new Map(isSame ? before.stats.tasks.map((task) => [task.task, task]) : []);
  const seconds = isSame ? (look.at - before.at) / 1000 : 0;
  return new Map(
    look.stats.tasks.map((task) => {
      const known = old.get(task.task);
      // A node that began anew counts from 0.
      const grown = known === undefined || known.count > task.count ? 0 : task.count - known.count;
      const mean = task.count === 0 ? null : task.total_ms / task.count;
      return [task.task, { count: task.count, rate: seconds === 0 ? 0 : grown / seconds, mean_ms: mean }];
    }),
  );
}
