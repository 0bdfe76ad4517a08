// The acts on a schedule: an occurrence that is due now, and a backfill of what was missed.

import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import { type ApiProblem, asProblem, isAbort } from "../../api/problem.ts";
import type { CronStatus } from "../../api/types.ts";
import { formatCount } from "../../core/format.ts";
import { setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { ProblemBox, Skeleton } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";

const t = texts.schedules;

/** Instants of a preview that are shown. */
const SAMPLES = 6;
/** Milliseconds after the last change of a field before the preview is counted. */
const PAUSE = 350;

/** Asks, and makes an occurrence that is due now. */
export function askForTrigger(schedule: CronStatus, done: () => void): void {
  const params = { path: { id: schedule.channel_id } };
  ask({
    title: t.trigger,
    text: t.triggerText(schedule.channel_name),
    confirm: t.trigger,
    run: async () => {
      const { body } = await act(t.triggered, api.POST("/api/v1/admin/channels/{id}/trigger", { params }));
      setQuery({ schedule: schedule.channel_id, at: body.data.scheduled_for });
      done();
    },
  });
}

/** Resumes a schedule that an operator paused. */
export function resume(schedule: CronStatus, done: () => void): Promise<void> {
  const params = { path: { id: schedule.channel_id } };
  return act(texts.channels.resumeDone(schedule.channel_name), api.POST("/api/v1/admin/channels/{id}/resume", { params, body: {} })).then(done);
}

interface Plan {
  key: string;
  planned: number;
  instants: readonly string[];
}

/** Asks for a range, counts what a backfill of it would run, and starts it. */
export function askForBackfill(schedule: CronStatus, range: { from: string; until: string }): void {
  const id = schedule.channel_id;
  const from = signal(range.from);
  const until = signal(range.until);
  const assumesMissed = signal(false);
  const parallel = signal(0);
  const plan = signal<Plan | null>(null);
  const problem = signal<ApiProblem | null>(null);
  const bodyOf = () => ({
    from: from.value.trim(),
    until: until.value.trim(),
    ...(assumesMissed.value ? { assume_missed: true } : {}),
    ...(parallel.value > 0 ? { max_parallel: parallel.value } : {}),
  });
  const keyOf = () => JSON.stringify([from.value, until.value, assumesMissed.value]);
  const params = { path: { id } };

  const Fields = () => {
    const key = keyOf();
    useEffect(() => {
      const reading = new AbortController();
      const count = async () => {
        problem.value = null;
        try {
          const body = { ...bodyOf(), dry_run: true };
          const answer = await read(api.POST("/api/v1/admin/channels/{id}/backfill", { params, body, signal: reading.signal }));
          if ("instants" in answer.data) plan.value = { key, planned: answer.data.planned, instants: answer.data.instants };
        } catch (thrown) {
          if (!isAbort(thrown) && !reading.signal.aborted) problem.value = asProblem(thrown);
        }
      };
      const timer = setTimeout(() => void count(), PAUSE);
      return () => {
        clearTimeout(timer);
        reading.abort();
      };
    }, [key]);
    const field = (name: "from" | "until", value: { value: string }) => (
      <div class="field grow">
        <label for={`backfill-${name}`}>{t[name]}</label>
        <input id={`backfill-${name}`} class="input mono" spellcheck={false} value={value.value} onInput={(event) => (value.value = event.currentTarget.value)} />
      </div>
    );
    return (
      <>
        <div class="row wraps">
          {field("from", from)}
          {field("until", until)}
        </div>
        <label class="check">
          <input type="checkbox" checked={assumesMissed.value} onChange={(event) => (assumesMissed.value = event.currentTarget.checked)} />
          {t.assumeMissed}
        </label>
        <div class="field">
          <label for="backfill-parallel">{t.maxParallel}</label>
          <input
            id="backfill-parallel"
            class="input number"
            type="number"
            min={0}
            value={parallel.value}
            onInput={(event) => (parallel.value = Math.max(0, Number(event.currentTarget.value) || 0))}
          />
        </div>
        {problem.value !== null ? <ProblemBox problem={problem.value} /> : plan.value?.key === key ? <PlanBox plan={plan.value} /> : <Skeleton lines={2} />}
      </>
    );
  };
  ask({
    title: `${t.backfill}: ${schedule.channel_name}`,
    text: t.backfillText,
    fields: <Fields />,
    confirm: () => (plan.value === null || plan.value.planned === 0 ? t.backfill : t.backfillConfirm(plan.value.planned)),
    disabled: () => {
      if (problem.value !== null) return problem.value.message;
      if (plan.value?.key !== keyOf()) return t.counting;
      return plan.value.planned === 0 ? t.nothingMissed : null;
    },
    run: async () => {
      const { body } = await act(t.backfillStarted, api.POST("/api/v1/admin/channels/{id}/backfill", { params, body: bodyOf() }));
      if ("id" in body.data) setQuery({ bulk: body.data.id, schedule: id });
    },
  });
}

function PlanBox({ plan }: { plan: Plan }) {
  const shown = plan.instants.slice(0, SAMPLES);
  const rest = plan.planned - shown.length;
  return (
    <div class="stack" role="status">
      <p>
        <strong class="number">{formatCount(plan.planned)}</strong> {plan.planned === 0 ? t.nothingMissed : t.planned(plan.planned)}
      </p>
      {shown.length > 0 && (
        <ul class="schedules-plan">
          {shown.map((at) => (
            <li key={at}>
              <Moment at={at} as="full" />
            </li>
          ))}
          {rest > 0 && <li class="muted">{t.andMore(rest)}</li>}
        </ul>
      )}
    </div>
  );
}
