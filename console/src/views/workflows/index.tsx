// Workflows: which version serves, which share a canary has, what fails.

import { useMemo } from "preact/hooks";
import { api, read } from "../../api/client.ts";
import type { Workflow } from "../../api/types.ts";
import { readChannels, readWorkflows } from "../../core/definitions/read.ts";
import { stepsOf } from "../../core/definitions/references.ts";
import { type FilterWord, filterParameters } from "../../core/filters.ts";
import { formatCompact, formatCount } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, go, href, place, query } from "../../core/router.ts";
import { rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/content.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { ListView } from "../../ui/list.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { fits, stateOf } from "./rows.ts";
import { flatten, readTasks } from "./tasks.ts";

const t = texts.workflows;

const EVERY = 15_000;
const STATES = ["active", "canary", "draft", "archived"] as const;

interface Row {
  workflow: Workflow;
  state: string;
  tasks: number;
  users: number;
  failures: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "name",
    title: t.columns.name,
    width: "34%",
    cell: ({ workflow, state }) => (
      <span class="row">
        <Status of={state === "canary" ? "half_open" : state} symbolOnly text={texts.definitions.states[state] ?? state} />
        <span class="clip workflows-name" title={workflow.description ?? workflow.name}>
          {workflow.name}
        </span>
        {state !== "active" && <span class="tag">{state === "canary" ? t.canaryShare(workflow.version, workflow.rollout_percentage) : (texts.definitions.states[state] ?? state)}</span>}
      </span>
    ),
  },
  { name: "id", title: t.columns.id, rank: 2, cell: ({ workflow }) => <code class="muted">{workflow.workflow_id}</code> },
  {
    name: "version",
    title: t.columns.version,
    width: "112px",
    cell: ({ workflow }) => (
      <span class="row">
        {workflow.active_version === undefined ? <span class="faint">–</span> : <span class="number">v{workflow.active_version}</span>}
        {workflow.status === "draft" && workflow.active_version !== undefined && <span class="tag">{texts.definitions.draft(workflow.version)}</span>}
      </span>
    ),
  },
  { name: "tasks", title: t.columns.tasks, width: "64px", isNumber: true, rank: 3, cell: (row) => row.tasks },
  { name: "users", title: t.columns.users, width: "82px", isNumber: true, rank: 2, cell: (row) => (row.users === 0 ? <span class="faint">0</span> : row.users) },
  {
    name: "failures",
    title: t.columns.failures,
    width: "76px",
    isNumber: true,
    cell: (row) => (row.failures === 0 ? <span class="faint">0</span> : <span class="badge bad" title={formatCount(row.failures)}>{formatCompact(row.failures)}</span>),
  },
  { name: "changed", title: t.columns.changed, width: "104px", isNumber: true, rank: 2, cell: ({ workflow }) => <Moment at={workflow.updated_at} /> },
];

function wordsFor(workflows: readonly Workflow[]): FilterWord[] {
  const tags = [...new Set(workflows.flatMap((workflow) => workflow.tags))].sort();
  return [
    { name: "state", hint: t.words.state, values: STATES, several: true },
    { name: "q", hint: t.words.name, several: false },
    { name: "tag", hint: t.words.tag, values: tags, several: false },
  ];
}

/** The view of workflows. */
export default function Workflows() {
  const range = rangeOf(query("range"));
  const all = useLoad("workflows all", readWorkflows, { every: EVERY });
  const channels = useLoad("channels all", readChannels, { every: EVERY * 4 });
  const params = { query: { since: `-${range.name}`, limit: 500 } };
  const errors = useLoad(`channels errors ${range.name}`, (signal) => read(api.GET("/api/v1/admin/errors", { params, signal })), { every: EVERY, keep: true });
  const workflows = all.data?.rows ?? [];
  const words = useMemo(() => wordsFor(workflows), [all.data]);
  const taskCounts = useMemo(() => new Map(workflows.map((row) => [row.workflow_id, flatten(readTasks(stepsOf(row))).length])), [all.data]);
  const users = new Map<string, number>();
  for (const { workflow_id: id } of channels.data?.rows ?? []) if (id !== null) users.set(id, (users.get(id) ?? 0) + 1);
  const failures = new Map<string, number>();
  for (const { workflow, count } of errors.data?.data ?? []) if (workflow !== null) failures.set(workflow, (failures.get(workflow) ?? 0) + count);
  const filter = filterParameters(place.value.query, words);
  const rows = workflows
    .map((workflow): Row => {
      const id = workflow.workflow_id;
      return { workflow, state: stateOf(workflow), tasks: taskCounts.get(id) ?? 0, users: users.get(id) ?? 0, failures: failures.get(id) ?? 0 };
    })
    .filter((row) => fits(row.workflow, row.state, filter));
  const counts: Record<string, number> = {};
  for (const workflow of workflows) counts[stateOf(workflow)] = (counts[stateOf(workflow)] ?? 0) + 1;
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.list, run: all.reload }]);
  return (
    <ListView
      title={texts.views.workflows}
      headNote={all.data && <span class="badge">{formatCount(rows.length)}</span>}
      actions={
        <>
          <RangePicker />
          <Button icon="editor" acts onClick={() => go("/new/workflow")}>
            {t.create}
          </Button>
        </>
      }
      above={<FilterBar words={words} counts={{ state: counts }} known={{ q: workflows.map((row) => row.name) }} />}
      list={all}
      rows={rows}
      rowKey={(row) => row.workflow.workflow_id}
      columns={COLUMNS}
      rowAddress={(row) => href(fillPath("/workflows/:id", { id: row.workflow.workflow_id }), row.state === "canary" ? { version: String(row.workflow.version) } : {})}
      note={all.data !== undefined && all.data.leftOut > 0 ? texts.definitions.leftOut(all.data.leftOut) : undefined}
      empty={<Empty icon="workflows" text={workflows.length === 0 ? t.none : t.noMatch} command={workflows.length === 0 ? "svc-cli workflows create -f workflow.json" : "svc-cli workflows list"} />}
    />
  );
}
