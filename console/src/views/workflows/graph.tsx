// The graph of a workflow: failures, counts and the outcome of a trial on its nodes.

import type { ComponentChildren } from "preact";
import { formatCompact, formatCount, formatRate } from "../../core/format.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { type GraphEdge, type GraphNode, GraphView } from "../../ui/graph.tsx";
import { Status } from "../../ui/status.tsx";
import type { TaskFigures } from "./stats.ts";
import { END, type Flow, START, type Task, type TaskGraph } from "./tasks.ts";

const t = texts.workflows;

const SMALL = { width: 76, height: 30 };
const LARGE = { width: 204, height: 58 };
const COUNTED = { width: 204, height: 76 };
const OUTCOMES: Record<string, string> = { executed: "--ok", failed: "--bad", tolerated: "--warn", skipped: "--skip" };
const LABELS: Record<Flow["kind"], string> = { next: "", then: t.flows.then, else: t.flows.else, failed: t.flows.failed, again: "" };

/** What the graph shows. */
export interface TaskGraphProps {
  graph: TaskGraph;
  failures?: ReadonlyMap<string, number>;
  /** How often each task of the version ran; none while no node counts it. */
  figures?: ReadonlyMap<string, TaskFigures> | undefined;
  /** What a trial did at each task. */
  outcomes?: ReadonlyMap<string, string>;
  current: string;
  choose: (id: string) => void;
}

function Marks({ task }: { task: Task }) {
  const marks = [task.isFanOut && t.marks.fanOut, task.isParallel && t.marks.parallel, task.hasCondition && t.marks.condition, task.isTolerant && t.marks.tolerant, task.isTerminal && t.marks.terminal].filter((mark) => mark !== false);
  return <>{marks.map((mark) => <span key={mark} class="task-mark">{mark}</span>)}</>;
}

function Counts({ figures }: { figures: TaskFigures }) {
  return (
    <span class="row task-line number" title={countsOf(figures)}>
      <span class="grow">{t.runs(formatCompact(figures.runs))}</span>
      {figures.rate > 0 && <span class="muted">{formatRate(figures.rate)}</span>}
      {figures.errors > 0 && <span class="bad">{t.errors(formatCompact(figures.errors))}</span>}
      <span class="muted">{figures.mean !== null && formatDuration(figures.mean)}</span>
    </span>
  );
}

/** Returns the counts of a task as a sentence. */
export const countsOf = ({ runs, errors, mean }: TaskFigures): string => t.ran(formatCount(runs), formatCount(errors), formatDuration(mean));

function TaskContent({ task, failures, figures, outcome }: { task: Task; failures: number; figures: TaskFigures | undefined; outcome: string | undefined }) {
  return (
    <>
      <span class="row task-line">
        {outcome !== undefined && <Status of={outcome} symbolOnly />}
        <span class="clip grow task-name">{task.name}</span>
        {failures > 0 && (
          <span class="badge bad" title={t.failed(failures)}>
            {formatCompact(failures)}
          </span>
        )}
      </span>
      <span class="row task-line faint">
        <span class="clip grow">{task.function === null ? t.group(task.members.length) : [task.function, task.target].filter(Boolean).join(" → ")}</span>
        <Marks task={task} />
      </span>
      {figures !== undefined && <Counts figures={figures} />}
    </>
  );
}

function labelOf(task: Task, props: TaskGraphProps): string {
  const parts: (string | false | undefined)[] = [
    task.name,
    task.function ?? t.group(task.members.length),
    task.hasCondition && t.marks.condition,
    (props.failures?.get(task.id) ?? 0) > 0 && t.failed(props.failures?.get(task.id) ?? 0),
    props.outcomes?.get(task.id),
    props.figures?.has(task.id) && countsOf(props.figures.get(task.id) as TaskFigures),
  ];
  return parts.filter(Boolean).join(", ");
}

/** The graph of the tasks. */
export function TaskGraphView(props: TaskGraphProps) {
  const { graph, outcomes } = props;
  const end = (id: string, label: string, content: ComponentChildren): GraphNode => ({ id, label, content, ...SMALL, onChoose: () => props.choose(""), isCurrent: false });
  const nodes: GraphNode[] = [
    end(START, t.start, <span class="task-end">{t.start}</span>),
    ...graph.tasks.map((task): GraphNode => {
      const failures = props.failures?.get(task.id) ?? 0;
      const outcome = outcomes?.get(task.id);
      const hue = outcome !== undefined ? OUTCOMES[outcome] : outcomes === undefined && failures > 0 ? "--bad" : undefined;
      return {
        id: task.id,
        label: labelOf(task, props),
        isNamedByContent: props.figures?.has(task.id) === true,
        content: <TaskContent task={task} failures={failures} figures={props.figures?.get(task.id)} outcome={outcome} />,
        ...(props.figures === undefined ? LARGE : COUNTED),
        ...(hue === undefined ? {} : { hue }),
        isCurrent: props.current === task.id,
        onChoose: () => props.choose(task.id),
      };
    }),
    end(END, t.end, <span class="task-end">{t.end}</span>),
  ];
  const loop = graph.loop === null ? "" : graph.loop["max"] === undefined ? t.loopOverList : t.loop(graph.loop["max"]);
  const isLit = (id: string) => outcomes === undefined || id === START || id === END || ["executed", "failed"].includes(outcomes.get(id) ?? "");
  const edges = graph.flows.map((flow): GraphEdge => ({
    from: flow.from,
    to: flow.to,
    label: flow.kind === "again" ? loop : LABELS[flow.kind],
    isDashed: flow.kind === "else" || flow.kind === "failed" || flow.kind === "again",
    ...(outcomes !== undefined && isLit(flow.from) && isLit(flow.to) ? { hue: "--ok" } : {}),
  }));
  return <GraphView label={t.graph} nodes={nodes} edges={edges} signature={JSON.stringify([graph.tasks.map((task) => task.id), edges, props.figures === undefined])} />;
}
