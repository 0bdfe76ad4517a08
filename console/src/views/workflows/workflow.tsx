// A workflow: its graph with failures and counts beside its source, its canary, versions, trials and dependents.

import { useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import type { ErrorGroup, Workflow, WorkflowTrialResult } from "../../api/types.ts";
import { useCommands } from "../../core/commands.ts";
import { textOf } from "../../core/definitions/documents.ts";
import { unsavedDocument } from "../../core/definitions/unsaved.ts";
import { formatCompact } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, go, href, query, setQuery } from "../../core/router.ts";
import { rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button, CopyButton, Segments } from "../../ui/button.tsx";
import { Callout, CommandLine, Facts, LoadState, Panel, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Dependents } from "../../ui/dependents.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { Versions } from "../../ui/versions.tsx";
import type { ViewProps } from "../registry.ts";
import { askForActivation, askForArchival, askForRollback } from "./acts.tsx";
import { CanaryPanel } from "./canary.tsx";
import { canaryOf } from "./figures.ts";
import { countsOf, TaskGraphView } from "./graph.tsx";
import { stateOf } from "./rows.ts";
import { Source } from "./source.tsx";
import { figuresOfTasks, type Look, type TaskFigures } from "./stats.ts";
import { failuresByTask, graphOf, type Task } from "./tasks.ts";
import { firstInput, Trial, type TrialInput } from "./trial.tsx";

const t = texts.workflows;

const EVERY = 5000;
const TABS = ["overview", "versions", "trial", "dependents"] as const;
const VERSIONS = 50;

async function readWorkflow(id: string, limit: number, signal: AbortSignal) {
  const params = { path: { id }, query: { limit } };
  const [latest, versions] = await Promise.all([
    read(api.GET("/api/v1/admin/workflows/{id}", { params: { path: { id } }, signal })),
    read(api.GET("/api/v1/admin/workflows/{id}/versions", { params, signal })),
  ]);
  return { latest: latest.data, versions: versions.data, hasMore: versions.total > versions.data.length };
}

/** Follows the counts of a version on the node that answers, with their rates between two looks. */
function useCounts(id: string, version: number): { look: Look | null; figures: ReadonlyMap<string, TaskFigures> | undefined } {
  const looks = useRef<{ last: Look | null; before: Look | null }>({ last: null, before: null });
  const params = { path: { id }, query: { version } };
  const loaded = useLoad(
    `workflow stats ${id} ${version}`,
    async (signal): Promise<Look> => ({ at: Date.now(), stats: (await read(api.GET("/api/v1/admin/workflows/{id}/stats", { params, signal }))).data }),
    { every: EVERY },
  );
  const look = loaded.data?.stats.served === true ? loaded.data : null;
  if (look !== looks.current.last) looks.current = { last: look, before: looks.current.last };
  return useMemo(() => ({ look, figures: look === null ? undefined : figuresOfTasks(look, looks.current.before) }), [look]);
}

function CountsNote({ look: { stats } }: { look: Look }) {
  return (
    <span class="faint clip" title={stats.node}>
      {t.countsOf(stats.node)} {stats.since !== null && <Moment at={stats.since} />}
    </span>
  );
}

function TaskDetails({ task, groups, figures, id }: { task: Task; groups: readonly ErrorGroup[]; figures: TaskFigures | undefined; id: string }) {
  const own = groups.filter((group) => group.task === task.id);
  return (
    <Panel title={task.name} note={<code class="faint clip">{task.id}</code>}>
      <div class="stack">
        <Facts
          facts={[
            [texts.runView.function, task.function ?? t.group(task.members.length)],
            [texts.runView.target, task.target],
            [t.countOf, figures && countsOf(figures)],
          ]}
        />
        {own.length === 0 ? (
          <Status of="ok" text={texts.now.noErrors} />
        ) : (
          <ul class="task-causes">
            {own.map((group) => (
              <li key={group.group}>
                <a class="line" href={href("/runs", { error_group: group.group })}>
                  <span class="badge bad">{formatCompact(group.count)}</span>
                  <span class="line-text breaks">{group.message}</span>
                  <Moment at={group.last_seen} as="distance" />
                </a>
              </li>
            ))}
          </ul>
        )}
        <a class="link" href={href("/runs", { workflow: id, task: task.id, status: "failed" })}>
          {t.failedRuns}
        </a>
      </div>
    </Panel>
  );
}

function Overview({ latest, versions, shown, reload }: { latest: Workflow; versions: readonly Workflow[]; shown: Workflow; reload: () => void }) {
  const id = latest.workflow_id;
  const range = rangeOf(query("range"));
  const params = { query: { workflow: [id], since: `-${range.name}`, limit: 200 } };
  const errors = useLoad(`workflow errors ${id} ${range.name}`, (signal) => read(api.GET("/api/v1/admin/errors", { params, signal })), { every: EVERY * 2, keep: true });
  const { look, figures } = useCounts(id, shown.version);
  const graph = useMemo(() => graphOf(shown), [shown.content_hash, shown.version]);
  const text = useMemo(() => textOf("workflow", shown), [shown.content_hash, shown.version]);
  const groups = errors.data?.data ?? [];
  const chosen = query("task");
  const task = graph.tasks.find((candidate) => candidate.id === chosen);
  const canary = canaryOf(versions);
  const others = groups.filter((group) => group.task === null || !graph.tasks.some((candidate) => candidate.id === group.task));
  const lost = others.reduce((sum, group) => sum + group.count, 0);
  const move = (by: number) => {
    const place = graph.tasks.findIndex((candidate) => candidate.id === chosen);
    const next = graph.tasks[Math.max(0, Math.min(graph.tasks.length - 1, place + by))];
    if (next !== undefined) setQuery({ task: next.id }, { replace: true });
  };
  const group = texts.keys.groups.list;
  useKeys([
    { keys: "j", does: t.nextTask, group, run: () => move(1) },
    { keys: "k", does: t.previousTask, group, run: () => move(-1) },
  ]);
  return (
    <>
      {latest.status === "draft" && (
        <Callout kind="run">
          {latest.active_version === undefined ? texts.definitions.onlyDraft : texts.definitions.hasDraft(latest.version, latest.active_version)}{" "}
          <a class="link" href={href(fillPath("/workflows/:id", { id }), { tab: "versions" })}>
            {texts.definitions.compare}
          </a>
        </Callout>
      )}
      {canary !== null && <CanaryPanel id={id} canary={canary} reload={reload} />}
      <div class="workflow-columns">
        <Panel
          title={t.graph}
          note={look !== null && <CountsNote look={look} />}
          actions={
            <select class="input" aria-label={t.versionShown} value={String(shown.version)} onChange={(event) => setQuery({ version: event.currentTarget.value, task: null })}>
              {versions.map((version) => (
                <option key={version.version} value={String(version.version)}>
                  {`v${version.version} · ${texts.definitions.states[version.status] ?? version.status}`}
                </option>
              ))}
            </select>
          }
          flush
        >
          <TaskGraphView graph={graph} failures={failuresByTask(groups)} figures={figures} current={chosen} choose={(next) => setQuery({ task: next === chosen ? null : next }, { replace: true })} />
          <p class="hint muted">
            {t.failuresNote(texts.range.names[range.name] ?? range.name)} {lost > 0 && t.failuresElsewhere(lost)}
          </p>
        </Panel>
        <div class="stack workflow-side">
          {task !== undefined && <TaskDetails task={task} groups={groups} figures={figures?.get(task.id)} id={id} />}
          <Panel title={t.sourceOf(shown.version)} actions={<CopyButton text={text} />} flush>
            <Source text={text} path={task?.path ?? null} />
          </Panel>
          <CommandLine command={`svc-cli workflows get ${id} -o json`} />
        </div>
      </div>
    </>
  );
}

interface BodyProps {
  latest: Workflow;
  versions: readonly Workflow[];
  reload: () => void;
  /** Reads older versions, if there are some. */
  more: (() => void) | null;
}

function WorkflowBody({ latest, versions, reload, more }: BodyProps) {
  const id = latest.workflow_id;
  const state = stateOf(latest);
  // The text of the editor that is not saved, if it is to be tried.
  const unsaved = query("text") === "unsaved" ? unsavedDocument("workflow", id) : null;
  const tried = unsaved === null ? latest : ({ ...latest, ...unsaved, workflow_id: id } as Workflow);
  const input = useSignal<TrialInput>(firstInput(tried));
  const result = useSignal<WorkflowTrialResult | null>(null);
  const asked = query("tab");
  const tab = TABS.find((name) => name === asked) ?? "overview";
  const find = (number: number | undefined) => versions.find((version) => version.version === number);
  const shown = find(Number(query("version")) || undefined) ?? find(latest.active_version) ?? latest;
  const isServing = latest.active_version !== undefined;
  const isDraft = latest.status === "draft";
  const activate = () => askForActivation(latest, isServing, canaryOf(versions) !== null, reload);
  const edit = () => go(fillPath("/edit/:kind/:id", { kind: "workflow", id }));
  const group = texts.keys.groups.view;
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: reload },
    { keys: "e", does: t.edit, group, run: edit },
    ...TABS.map((name, index) => ({ keys: String(index + 1), does: texts.definitions.tabs[name], group, run: () => setQuery({ tab: name }, { replace: true }) })),
  ]);
  useCommands([
    { text: t.edit, group: texts.palette.here, keys: "e", run: edit },
    { text: t.try, group: texts.palette.here, run: () => setQuery({ tab: "trial" }) },
    { text: texts.definitions.activate(latest.version), group: texts.palette.here, disabled: isDraft ? null : texts.definitions.noDraft, run: activate },
  ]);
  return (
    <>
      <ViewHead
        title={latest.name}
        parents={[{ text: texts.views.workflows, to: href("/workflows") }]}
        note={<Status of={state === "canary" ? "half_open" : state} text={state === "canary" ? t.canaryShare(latest.version, latest.rollout_percentage) : (texts.definitions.states[state] ?? state)} />}
      >
        <RangePicker />
        {isDraft && (
          <Button kind="primary" icon="check" acts onClick={activate}>
            {texts.definitions.activate(latest.version)}
          </Button>
        )}
        <Button icon="editor" onClick={edit}>
          {t.edit}
        </Button>
        <Menu
          label={texts.page.more}
          items={[
            { text: t.archive, icon: "trash", disabled: isServing ? null : texts.definitions.notServing, run: () => askForArchival(latest, reload) },
            { text: t.showRuns, icon: "runs", run: () => go("/runs", { workflow: id }) },
          ]}
        />
      </ViewHead>
      <ViewBody>
        <div>
          <Segments label={texts.definitions.parts} options={TABS.map((name) => ({ value: name, text: texts.definitions.tabs[name] }))} value={tab} onChange={(name) => setQuery({ tab: name === "overview" ? null : name })} />
        </div>
        {tab === "overview" && <Overview latest={latest} versions={versions} shown={shown} reload={reload} />}
        {tab === "versions" && (
          <Versions
            versions={versions}
            textOf={(version) => textOf("workflow", version)}
            rollback={(version) => askForRollback(latest, version, reload)}
            rollbackDisabled={isDraft ? texts.definitions.draftFirst : null}
            more={more}
          />
        )}
        {tab === "trial" && <Trial workflow={tried} unsaved={unsaved} input={input} result={result} />}
        {tab === "dependents" && <Dependents kind="workflow" id={id} />}
      </ViewBody>
    </>
  );
}

/** The view of a workflow. */
export default function WorkflowView({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const limit = useSignal(VERSIONS);
  const loaded = useLoad(`workflow ${id} ${limit.value}`, (signal) => readWorkflow(id, limit.value, signal), { every: EVERY * 2, keep: true });
  if (loaded.data !== undefined && loaded.data.latest.workflow_id === id) {
    const more = loaded.data.hasMore ? () => void (limit.value += VERSIONS) : null;
    return <WorkflowBody key={id} latest={loaded.data.latest} versions={loaded.data.versions} reload={loaded.reload} more={more} />;
  }
  return (
    <>
      <ViewHead title={texts.views.workflow} parents={[{ text: texts.views.workflows, to: href("/workflows") }]} />
      <ViewBody><LoadState of={loaded} lines={6} /></ViewBody>
    </>
  );
}
