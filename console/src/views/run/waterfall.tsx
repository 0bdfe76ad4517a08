// The waterfall of steps, and the details of the chosen one.

import type { TaskError } from "../../api/types.ts";
import { useKeys } from "../../core/keys.ts";
import { query, setQuery } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Segments } from "../../ui/button.tsx";
import { Callout, Empty, Facts, Panel, Prose } from "../../ui/content.tsx";
import { JsonDiff } from "../../ui/diff.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Status } from "../../ui/status.tsx";
import type { Step, Timeline } from "./steps.ts";
import { TargetLink } from "./target.tsx";

const t = texts.runView;

function Bar({ step, length }: { step: Step; length: number }) {
  if (step.start === null || step.duration === null) return <span class="run-track" />;
  const left = Math.min(99.4, (step.start / length) * 100);
  const width = Math.max(0.6, Math.min(100 - left, (step.duration / length) * 100));
  return (
    <span class="run-track" aria-hidden="true">
      <span class={`run-bar ${step.outcome}`} style={{ left: `${left}%`, width: `${width}%` }} />
    </span>
  );
}

function Row({ step, length, isCurrent }: { step: Step; length: number; isCurrent: boolean }) {
  return (
    <li>
      <button type="button" class="run-step" aria-pressed={isCurrent} onClick={() => setQuery({ step: String(step.index) }, { replace: true })}>
        <Status of={step.outcome} symbolOnly />
        <span class="run-step-name">
          <span class="clip">{step.name}</span>
          <span class="clip faint">{[step.function, step.target].filter(Boolean).join(" → ")}</span>
        </span>
        <Bar step={step} length={length} />
        <span class="number run-step-time">{step.duration === null ? "" : formatDuration(step.duration)}</span>
      </button>
    </li>
  );
}

/** An error of a task, with what the called system answered. */
export function ErrorCallout({ error }: { error: TaskError }) {
  const { code, message, task_id: task, tolerated, workflow_id: _, timestamp: __, path, ...rest } = error;
  const more = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
  return (
    <Callout kind={tolerated ? "warn" : "bad"}>
      <p>
        {task && <strong>{task} </strong>}
        <code>{code}</code> {message}
      </p>
      {more.length > 0 && <JsonTree label={t.answer} value={Object.fromEntries(more)} depth={1} />}
    </Callout>
  );
}

type Shown = "changes" | "diff" | "after";

function StepDetails({ step }: { step: Step }) {
  const asked = query("show");
  const tabs: { value: Shown; text: string }[] = [
    ...(step.changes.length > 0 ? [{ value: "changes" as const, text: t.changes }] : []),
    { value: "diff", text: t.difference },
    { value: "after", text: t.after },
  ];
  const shown = tabs.find((tab) => tab.value === asked)?.value ?? tabs[0]?.value ?? "diff";
  return (
    <div class="stack run-details">
      <Facts
        facts={[
          [t.task, step.name],
          [t.function, step.function && <code>{step.function}</code>],
          [t.target, step.target && <TargetLink step={step} />],
          [t.took, step.duration === null ? null : formatDuration(step.duration)],
          [t.begins, step.start === null ? null : `+${formatDuration(step.start)}`],
        ]}
      />
      {step.errors.map((error, index) => (
        <ErrorCallout key={index} error={error} />
      ))}
      {step.outcome === "skipped" && <p class="muted">{t.skipped}</p>}
      {step.after === undefined ? (
        <p class="muted">{t.notRecorded}</p>
      ) : (
        <>
          <div>
            <Segments label={t.show} options={tabs} value={shown} onChange={(value) => setQuery({ show: value }, { replace: true })} />
          </div>
          {shown === "changes" &&
            step.changes.map((change, index) => (
              <section class="stack" key={index}>
                <h3 class="mono">{change.path}</h3>
                <JsonDiff
                  label={change.path}
                  before={change.old_value === null ? undefined : change.old_value}
                  after={change.new_value}
                />
              </section>
            ))}
          {shown === "diff" && <JsonDiff label={t.difference} before={step.before} after={step.after} />}
          {shown === "after" && <JsonTree label={t.after} value={step.after} depth={3} />}
        </>
      )}
    </div>
  );
}

/** The steps of a run beside the details of one of them. */
export function Waterfall({ timeline, hasBegun }: { timeline: Timeline; hasBegun: boolean }) {
  const { steps } = timeline;
  const failed = steps.findIndex((step) => step.outcome === "failed");
  const asked = Number.parseInt(query("step"), 10);
  const place = steps[asked] === undefined ? Math.max(0, failed) : asked;
  const current = steps[place];
  const move = (by: number) => setQuery({ step: String(Math.max(0, Math.min(steps.length - 1, place + by))) }, { replace: true });
  const group = texts.keys.groups.list;
  useKeys([
    { keys: "j", does: texts.keys.next, group, run: () => move(1) },
    { keys: "k", does: texts.keys.previous, group, run: () => move(-1) },
  ]);
  if (current === undefined) {
    return (
      <Panel title={t.steps}>
        {hasBegun ? <Empty icon="workflows" text={t.noSteps} hint={<Prose text={t.detailsHint} />} /> : <Empty icon="clock" text={t.notBegun} />}
      </Panel>
    );
  }
  return (
    <div class="run-columns">
      <Panel title={t.steps} note={<span class="faint number">{formatDuration(timeline.length)}</span>} flush>
        <ol class="run-steps">
          {steps.map((step) => (
            <Row key={step.index} step={step} length={timeline.length} isCurrent={step.index === place} />
          ))}
        </ol>
        {!timeline.hasDetails && (
          <p class="run-hint muted">
            <Prose text={t.detailsHint} />
          </p>
        )}
        {timeline.isTruncated && <p class="run-hint muted">{t.truncated}</p>}
      </Panel>
      <Panel title={current.name} note={<Status of={current.outcome} />}>
        <StepDetails step={current} />
      </Panel>
    </div>
  );
}
