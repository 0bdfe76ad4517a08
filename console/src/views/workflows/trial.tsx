// A trial of a workflow: with a payload, or that of a stored run; the steps light up in the graph.

import { useEffect } from "preact/hooks";
import { type Signal, useSignal } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import { act } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { ExecutionTrace, TaskError, Trace, Workflow, WorkflowTrialResult } from "../../api/types.ts";
import { updateOf } from "../../core/definitions/documents.ts";
import { stepsOf } from "../../core/definitions/references.ts";
import { parseJson, stubsOf } from "../../core/definitions/trials.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query, setQuery } from "../../core/router.ts";
import { formatDuration, formatInstant } from "../../core/time.ts";
import { showsUtc } from "../../core/preferences.ts";
import { shortId } from "../../core/format.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, Panel, ProblemBox } from "../../ui/content.tsx";
import { JsonDiff } from "../../ui/diff.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Editor } from "../../ui/editor.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Status } from "../../ui/status.tsx";
import { TaskGraphView } from "./graph.tsx";
import { graphOf, outcomesByTask } from "./tasks.ts";

const t = texts.workflows;

/** Runs that are offered. */
const RUNS = 20;

/** What a person entered, kept while other parts of the view are shown. */
export interface TrialInput {
  payload: string;
  stubs: string;
  isLive: boolean;
}

/** Returns the input of a first trial of a workflow. */
export const firstInput = (workflow: Workflow): TrialInput => ({
  payload: "{}",
  stubs: JSON.stringify(stubsOf(stepsOf(workflow)), null, 2),
  isLive: false,
});

function StoredRuns({ id, take }: { id: string; take: (payload: unknown) => void }) {
  const chosen = query("run");
  const problem = useSignal<string | null>(null);
  const runs = useLoad(`trial runs ${id}`, (signal) => read(api.GET("/api/v1/admin/traces", { params: { query: { workflow: [id], limit: RUNS } }, signal })));
  useEffect(() => {
    if (chosen === "") return;
    const reading = new AbortController();
    problem.value = null;
    read(api.GET("/api/v1/admin/traces/{id}", { params: { path: { id: chosen } }, signal: reading.signal })).then(
      ({ data }) => {
        const input = (((data as Trace).task_trace_json ?? {}) as ExecutionTrace).input;
        if (input?.payload === undefined) problem.value = t.noInput;
        else take(input.payload);
      },
      (thrown: unknown) => {
        if (!reading.signal.aborted) problem.value = asProblem(thrown).message;
      },
    );
    return () => reading.abort();
  }, [chosen]);
  const rows = runs.data?.data ?? [];
  const isListed = chosen === "" || rows.some((row) => row.id === chosen);
  return (
    <div class="stack">
      <label class="row wraps">
        <span class="muted">{t.fromRun}</span>
        <select class="input trial-runs" value={chosen} onChange={(event) => setQuery({ run: event.currentTarget.value }, { replace: true })}>
          <option value="">{rows.length === 0 ? t.noRuns : t.ownPayload}</option>
          {!isListed && <option value={chosen}>{chosen}</option>}
          {rows.map((row) => (
            <option key={row.id} value={row.id}>
              {`${formatInstant(Date.parse(row.created_at), showsUtc.value)} · ${texts.status[row.status] ?? row.status} · ${row.channel} · ${shortId(row.id)}`}
            </option>
          ))}
        </select>
      </label>
      {problem.value !== null && <p class="bad">{problem.value}</p>}
    </div>
  );
}

/** Returns what tasks write: the metadata of the run would hide it. */
const written = (message: Record<string, unknown> | undefined) => ({ data: message?.["data"] ?? {}, temp_data: message?.["temp_data"] ?? {} });

function Step({ result, place }: { result: WorkflowTrialResult; place: number }) {
  const step = result.trace.steps[place];
  const errors = (result.errors as TaskError[]).filter((error) => error.task_id === step?.task_id);
  if (step === undefined) return null;
  const before = result.trace.steps[place - 1]?.message;
  return (
    <div class="stack trial-step">
      {errors.map((error, index) => (
        <Callout key={index} kind={error.tolerated ? "warn" : "bad"}>
          <code>{error.code}</code> {error.message}
        </Callout>
      ))}
      {step.result === "skipped" ? <p class="muted">{texts.runView.skipped}</p> : <JsonDiff label={texts.runView.difference} before={written(before)} after={written(step.message)} />}
    </div>
  );
}

/** The outcome of a trial. */
function Outcome({ workflow, result }: { workflow: Workflow; result: WorkflowTrialResult }) {
  const place = useSignal(Math.max(0, result.trace.steps.findIndex((step) => step.result === "failed")));
  const failed = new Set((result.errors as TaskError[]).flatMap((error) => (error.task_id ? [error.task_id] : [])));
  const steps = result.trace.steps;
  const graph = graphOf(workflow);
  const outcomes = outcomesByTask(graph.tasks, steps, failed);
  const choose = (id: string) => {
    const found = steps.findIndex((step) => step.task_id === id);
    if (found >= 0) place.value = found;
  };
  const state = result.error !== undefined ? "failed" : !result.matched ? "skipped" : failed.size > 0 ? "tolerated" : "completed";
  return (
    <>
      {result.error !== undefined && <Callout kind="bad" role="alert">{result.error}</Callout>}
      {!result.matched && <Callout kind="warn">{t.notMatched}</Callout>}
      <div class="workflow-columns">
        <Panel title={t.graph} note={<Status of={state} />} flush>
          <TaskGraphView graph={graph} outcomes={outcomes} current={steps[place.value]?.task_id ?? ""} choose={choose} />
        </Panel>
        <div class="stack workflow-side">
          <Panel title={texts.runView.steps} note={<span class="faint">{result.live ? t.calledForReal : t.stubbed}</span>} flush>
            <ol class="trial-steps">
              {steps.map((step, index) => {
                const outcome = step.task_id !== null && failed.has(step.task_id) && step.result !== "skipped" ? "failed" : step.result;
                return (
                  <li key={index}>
                    <button type="button" class="version-pick" aria-pressed={index === place.value} onClick={() => (place.value = index)}>
                      <Status of={outcome} symbolOnly />
                      <span class="clip">{step.task_id ?? step.workflow_id}</span>
                      {(step.index ?? step.loop_counter) !== undefined && <span class="faint number">[{step.index ?? step.loop_counter}]</span>}
                      <span class="clip faint">{[step.function, step.target].filter(Boolean).join(" → ")}</span>
                      <span class="grow" />
                      <span class="number muted">{step.duration_us === undefined ? "" : formatDuration(step.duration_us / 1000)}</span>
                    </button>
                    {index === place.value && <Step result={result} place={index} />}
                  </li>
                );
              })}
            </ol>
          </Panel>
          <Panel title={t.output}>
            <JsonTree label={t.output} value={result.output} depth={3} />
          </Panel>
          {result.calls !== undefined && Object.keys(result.calls).length > 0 && (
            <Panel title={t.calls}>
              <JsonTree label={t.calls} value={result.calls} depth={2} />
            </Panel>
          )}
        </div>
      </div>
    </>
  );
}

/** Reads what was entered: the body of the trial, or the reason for which there is none. */
function bodyOf(input: TrialInput): { body: Record<string, unknown> } | { problem: string } {
  const payload = parseJson(input.payload);
  if (payload === null) return { problem: t.payloadNotJson };
  if (input.isLive) return { body: { data: payload.value } };
  const stubs = parseJson(input.stubs);
  if (stubs === null || typeof stubs.value !== "object" || stubs.value === null) return { problem: t.stubsNotJson };
  // No stub at all means real calls: an empty object stays in the body only if there is something to call.
  return { body: { data: payload.value, stubs: stubs.value } };
}

/** The part of the view that tries a workflow. */
export function Trial(props: {
  workflow: Workflow;
  /** The document to try in place of the latest version. */
  unsaved: Record<string, unknown> | null;
  input: Signal<TrialInput>;
  result: Signal<WorkflowTrialResult | null>;
}) {
  const { workflow, unsaved, input, result } = props;
  const id = workflow.workflow_id;
  const problem = useSignal<ApiProblem | null>(null);
  const made = bodyOf(input.value);
  const set = (changes: Partial<TrialInput>) => (input.value = { ...input.value, ...changes });
  const run = async () => {
    problem.value = null;
    if ("problem" in made) return;
    try {
      const { body } = await act(t.tried, api.POST("/api/v1/admin/workflows/{id}/test", { params: { path: { id } }, body: { ...made.body, ...(unsaved === null ? {} : { workflow: updateOf("workflow", unsaved) }) } }));
      result.value = body.data;
    } catch (thrown) {
      problem.value = asProblem(thrown);
    }
  };
  const begin = () => {
    if (!input.value.isLive) return run();
    ask({ title: t.tryForReal, text: t.tryForRealText, confirm: t.tryForReal, isDanger: true, run });
    return undefined;
  };
  return (
    <>
      <Panel
        title={unsaved === null ? t.trialOf(workflow.version) : t.trialOfUnsaved}
        note={
          unsaved === null ? (
            <Status of={workflow.status} text={texts.definitions.states[workflow.status] ?? workflow.status} />
          ) : (
            <a class="link" href={href(fillPath("/edit/:kind/:id", { kind: "workflow", id }))}>
              {texts.editor.back}
            </a>
          )
        }
        actions={
          <Button kind="primary" icon="play" acts disabled={"problem" in made ? made.problem : null} onClick={begin}>
            {t.try}
          </Button>
        }
      >
        <div class="trial-input">
          <div class="stack">
            <StoredRuns id={id} take={(payload) => set({ payload: JSON.stringify(payload, null, 2) })} />
            <div class="trial-editor">
              <Editor label={t.payload} value={input.value.payload} onChange={(payload) => set({ payload })} height="220px" />
            </div>
          </div>
          <div class="stack">
            <label class="check">
              <input type="checkbox" checked={input.value.isLive} onChange={(event) => set({ isLive: event.currentTarget.checked })} />
              {t.callForReal}
            </label>
            {input.value.isLive ? (
              <Callout kind="warn">{t.tryForRealText}</Callout>
            ) : (
              <>
                <p class="muted">{t.stubsHint}</p>
                <div class="trial-editor">
                  <Editor label={t.stubs} value={input.value.stubs} onChange={(stubs) => set({ stubs })} height="190px" />
                </div>
              </>
            )}
          </div>
        </div>
        {problem.value !== null && <ProblemBox problem={problem.value} />}
      </Panel>
      {result.value !== null && <Outcome workflow={workflow} result={result.value} key={JSON.stringify(result.value.trace.steps.length)} />}
    </>
  );
}
