// Run: one address for one run. Why it waits, what it did step by step, what became of it.

import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { api, apiRoot, read } from "../../api/client.ts";
import type { Trace, TraceAttempt } from "../../api/types.ts";
import { useCommands } from "../../core/commands.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { notify } from "../../core/toasts.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, Facts, LoadState, Panel, RunLink, ViewBody, ViewHead, WorkflowLink } from "../../ui/content.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { ViewProps } from "../registry.ts";
import { askForRerun, hasEnded, RunActs, whyNoRerun } from "./acts.tsx";
import { copiesOf } from "./copies.ts";
import { readTimeline, taskErrors, type Timeline } from "./steps.ts";
import { CHANNEL_CALL, TargetLink } from "./target.tsx";
import { ErrorCallout, Waterfall } from "./waterfall.tsx";

const t = texts.runView;

/** Milliseconds between two reads of a run that has not ended. */
const EVERY = 2000;

const ATTEMPTS: readonly Column<TraceAttempt>[] = [
  { name: "attempt", title: t.attempt, width: "140px", cell: (row) => <span class="row"><Status of={row.status} symbolOnly /> {t.attemptNumber(row.attempt)}</span> },
  { name: "error", title: t.error, cell: (row) => <span class="muted" title={row.error}>{row.error ?? "–"}</span> },
  { name: "took", title: t.took, width: "92px", isNumber: true, rank: 2, cell: (row) => formatDuration(row.duration_ms) },
  { name: "started", title: t.started, width: "110px", isNumber: true, cell: (row) => <Moment at={row.started_at} /> },
];

function Waiting({ trace }: { trace: Trace }) {
  const wait = trace.waits_for;
  if (wait === undefined) return null;
  const isRun = wait.reason === "share";
  return (
    <Callout kind="run" icon="clock" role="status">
      <p>{wait.sentence}</p>
      <p class="row wraps muted">
        <span>
          {t.waitsSince} <Moment at={wait.since} as="distance" />
        </span>
        {wait.until && (
          <span>
            {t.waitsUntil} <Moment at={wait.until} /> (<Moment at={wait.until} as="distance" />)
          </span>
        )}
        {wait.position !== undefined && <span>{t.position(wait.position)}</span>}
        {wait.holder !== undefined && <span>{isRun ? <RunLink id={wait.holder}>{t.holder}</RunLink> : t.holderNode(wait.holder)}</span>}
      </p>
    </Callout>
  );
}

/** Runs before and after this one, the channels that it called, and its place in a distributed trace. */
function Chain({ trace, timeline }: { trace: Trace; timeline: Timeline }) {
  const runs = (ids: readonly string[]) => ids.length > 0 && <span class="stack">{ids.map((id) => <RunLink key={id} id={id} />)}</span>;
  const called = timeline.steps.filter((step) => step.function === CHANNEL_CALL && step.target !== null && step.outcome !== "skipped");
  const calls = [...new Map(called.map((step) => [step.target, step])).values()];
  const url = trace.distributed_trace_url;
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    [t.rerunOf, trace.rerun_of && <RunLink id={trace.rerun_of} />],
    [t.attemptOf, trace.attempt_of && <RunLink id={trace.attempt_of} />],
    [t.reruns, runs(trace.reruns ?? [])],
    [t.calls, calls.length > 0 && <span class="stack">{calls.map((step) => <TargetLink key={step.index} step={step} />)}</span>],
    [
      t.distributedTrace,
      url ? (
        <a class="link mono breaks" href={url} rel="noreferrer">
          {trace.distributed_trace_id}
        </a>
      ) : (
        trace.distributed_trace_id && <code class="breaks">{trace.distributed_trace_id}</code>
      ),
    ],
  ];
  const shown = facts.filter(([, value]) => value);
  if (shown.length === 0) return null;
  return (
    <Panel title={t.chain}>
      <Facts facts={shown} />
    </Panel>
  );
}

function RunFacts({ trace }: { trace: Trace }) {
  return (
    <Panel title={t.facts}>
      <Facts
        facts={[
          [t.id, <code class="breaks">{trace.id}</code>],
          [t.channel, <a class="link" href={trace.channel_id === null ? href("/runs", { channel: trace.channel }) : href(fillPath("/channels/:id", { id: trace.channel_id }))}>{trace.channel}</a>],
          [t.workflow, trace.workflow_id !== null && <WorkflowLink id={trace.workflow_id} version={trace.workflow_version} />],
          [t.mode, trace.mode],
          [t.created, <Moment at={trace.created_at} as="full" />],
          [t.deliverAt, trace.deliver_at && <Moment at={trace.deliver_at} as="full" />],
          [t.started, trace.started_at && <Moment at={trace.started_at} as="full" />],
          [t.completed, trace.completed_at && <Moment at={trace.completed_at} as="full" />],
          [t.took, trace.duration_ms === undefined ? null : formatDuration(trace.duration_ms)],
          [t.attempt, String(trace.attempt)],
          [t.nextRetry, trace.next_retry_at && <Moment at={trace.next_retry_at} as="distance" />],
          [t.request, trace.request_id && <code class="breaks">{trace.request_id}</code>],
          [t.cancelRequested, trace.cancel_requested_at && <Moment at={trace.cancel_requested_at} as="full" />],
          [t.cancelledBy, trace.cancelled_by],
        ]}
      />
    </Panel>
  );
}

function RunBody({ trace, reload }: { trace: Trace; reload: () => void }) {
  const isRaw = useSignal(false);
  const timeline = readTimeline(trace);
  const isAccepted = trace.mode === "async" || trace.mode === "kafka";
  const query = { trace_id: [trace.id], limit: 1 };
  const letters = useLoad(isAccepted ? `letter ${trace.id} ${trace.status}` : null, (signal) => read(api.GET("/api/v1/admin/trace-dlq", { params: { query }, signal })));
  const letter = letters.data?.data[0];
  const payload = timeline.input?.payload;
  const copies = copiesOf(trace, timeline, apiRoot);
  const errors = taskErrors(trace).filter((error) => error.code !== "WORKFLOW_ERROR");
  const message = trace.message as { data?: unknown } | null | undefined;
  const result = message !== null && typeof message === "object" && "data" in message ? message.data : trace.message;
  const inFlight = Array.isArray(trace.in_flight) ? trace.in_flight : [];
  const group = texts.keys.groups.view;
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: reload },
    { keys: "v", does: t.raw, group, run: () => (isRaw.value = true) },
  ]);
  useCommands([{ text: t.rerun, group: texts.palette.here, disabled: whyNoRerun(trace, letter), run: () => askForRerun(trace, payload) }]);
  const copy = async (text: string) => {
    await navigator.clipboard.writeText(text);
    notify({ kind: "note", text: texts.page.copied });
  };
  return (
    <>
      <ViewHead
        title={trace.channel}
        parents={[{ text: texts.views.runs, to: href("/runs") }]}
        note={<Status of={trace.status} />}
      >
        <RunActs trace={trace} letter={letter} payload={payload} reload={reload} />
        <Button kind="plain" icon="api" label={t.raw} onClick={() => void (isRaw.value = true)} />
        <Menu label={t.copy} text={t.copy} icon="copy" items={copies.map(({ name, text }) => ({ text: name, run: () => copy(text) }))} />
      </ViewHead>
      <ViewBody>
        <Waiting trace={trace} />
        {trace.status === "failed" && errors.length === 0 && trace.error && <ErrorCallout error={{ code: trace.error_code ?? "", message: trace.error }} />}
        {errors.map((error, index) => (
          <ErrorCallout key={index} error={error} />
        ))}
        {inFlight.length > 0 && (
          <Callout kind="warn">
            <p>{t.inFlight}</p>
            <JsonTree label={t.inFlight} value={inFlight} />
          </Callout>
        )}
        <Waterfall timeline={timeline} hasBegun={!["pending", "scheduled"].includes(trace.status)} />
        {(trace.attempts?.length ?? 0) > 1 && (
          <Panel title={t.attempts} flush>
            <Table
              isFree
              label={t.attempts}
              rows={trace.attempts ?? []}
              rowKey={(row) => row.trace_id}
              rowAddress={(row) => href(fillPath("/runs/:id", { id: row.trace_id }))}
              columns={ATTEMPTS}
              empty={null}
            />
          </Panel>
        )}
        <div class="grid">
          <RunFacts trace={trace} />
          <div class="stack run-side">
            {payload !== undefined && (
              <Panel title={t.input}>
                <JsonTree label={t.input} value={payload} />
              </Panel>
            )}
            {result !== undefined && result !== null && (
              <Panel title={t.result}>
                <JsonTree label={t.result} value={result} />
              </Panel>
            )}
            <Chain trace={trace} timeline={timeline} />
          </div>
        </div>
      </ViewBody>
      {isRaw.value && (
        <Dialog title={t.raw} kind="wide" onClose={() => (isRaw.value = false)}>
          <div class="dialog-body">
            <JsonTree label={t.raw} value={trace} depth={2} />
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The view of a run. */
export default function Run({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const isOpen = useSignal(true);
  const loaded = useLoad(
    `run ${id}`,
    async (signal) => {
      const answer = await read(api.GET("/api/v1/admin/traces/{id}", { params: { path: { id } }, signal }));
      const trace = answer.data as Trace;
      isOpen.value = !hasEnded(trace);
      return trace;
    },
    isOpen.value ? { every: EVERY } : {},
  );
  if (loaded.data !== undefined) return <RunBody trace={loaded.data} reload={loaded.reload} />;
  return (
    <>
      <ViewHead title={texts.views.run} parents={[{ text: texts.views.runs, to: href("/runs") }]} />
      <ViewBody><LoadState of={loaded} lines={6} /></ViewBody>
    </>
  );
}
