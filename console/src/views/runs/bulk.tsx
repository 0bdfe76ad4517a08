// The bar of actions on many runs, the question before one, and its progress.

import { useEffect } from "preact/hooks";
import { type Signal, signal, useSignal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import type { BulkDryRun, BulkRun } from "../../api/types.ts";
import { formatCount } from "../../core/format.ts";
import { useLoad } from "../../core/load.ts";
import { query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { RunLink } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { actionFilter, actionsOf, actOnOccurrences, type BulkAction, previewAction, selectionFilter, startAction } from "./actions.ts";
import type { RunRow } from "./rows.ts";
import type { Kind } from "./words.ts";

const t = texts.runs;

/** Rows a second, unless the person chooses another pace. */
const RATE = 500;
/** Rows of a preview that are shown. */
const SAMPLES = 5;

function Preview({ dryRun }: { dryRun: BulkDryRun }) {
  return (
    <div class="stack">
      <p role="status">
        <strong class="number">{formatCount(dryRun.matched)}</strong> {t.match(dryRun.matched)}
      </p>
      {dryRun.samples.length > 0 && (
        <ul class="runs-samples">
          {dryRun.samples.slice(0, SAMPLES).map((sample) => (
            <li class="row" key={sample.id}>
              <span class="clip">{sample.channel}</span>
              <span class="clip muted grow">{sample.error ?? sample.status}</span>
              <Moment at={sample.created_at} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function RateField({ rate }: { rate: Signal<number> }) {
  return (
    <div class="field">
      <label for="bulk-rate">{t.rate}</label>
      <input
        id="bulk-rate"
        class="input number"
        type="number"
        min={0}
        value={rate.value}
        onInput={(event) => (rate.value = Math.max(0, Number(event.currentTarget.value) || 0))}
      />
    </div>
  );
}

const nameOf = (action: BulkAction): string => t.actions[action.action] ?? action.action;

function askForAll(action: BulkAction, filter: Record<string, string | string[]>): void {
  const matched = signal(0);
  const rate = signal(RATE);
  ask({
    title: nameOf(action),
    text: t.effects[`${action.kind}.${action.action}`],
    fields: <RateField rate={rate} />,
    preview: async (cancelled) => {
      const dryRun = await previewAction(action, filter, cancelled);
      matched.value = dryRun.matched;
      return <Preview dryRun={dryRun} />;
    },
    confirm: () => t.confirm(nameOf(action), matched.value, t.nouns[action.kind] ?? ["", ""]),
    disabled: () => (matched.value === 0 ? t.nothingMatches : null),
    isDanger: action.isDanger ?? false,
    run: async () => setQuery({ bulk: await startAction(action, filter, rate.value) }),
  });
}

function askForOccurrences(action: BulkAction, rows: readonly RunRow[], done: () => void): void {
  ask({
    title: nameOf(action),
    text: t.effects[`${action.kind}.${action.action}`],
    confirm: t.confirm(nameOf(action), rows.length, t.nouns[action.kind] ?? ["", ""]),
    isDanger: action.isDanger ?? false,
    run: () => actOnOccurrences(action, rows).finally(done),
  });
}

/** What the bar acts on. */
export interface BulkBarProps {
  kind: Kind;
  filter: Readonly<Record<string, string>>;
  rows: readonly RunRow[];
  selection: Signal<ReadonlySet<string>>;
  reload: () => void;
}

/** The bar of actions: on the rows that are selected, else on everything that matches the filter. */
export function BulkBar({ kind, filter, rows, selection, reload }: BulkBarProps) {
  const chosen = rows.filter((row) => selection.value.has(row.key));
  const hasFilter = Object.keys(filter).length > 0;
  const reasonFor = (action: BulkAction): string | null => {
    if (chosen.length > 0) {
      const fits = chosen.some((row) => (action.kind === "occurrences" ? row.kind === "occurrence" : row.traceId !== null));
      return fits ? null : t.notOfSelection;
    }
    if (!hasFilter) return t.chooseFirst;
    return actionFilter(action, kind, filter) === null ? t.notOfFilter : null;
  };
  const start = (action: BulkAction) => {
    if (chosen.length === 0) {
      const words = actionFilter(action, kind, filter);
      if (words !== null) askForAll(action, words);
    } else if (action.kind === "occurrences") {
      askForOccurrences(action, chosen.filter((row) => row.kind === "occurrence"), reload);
    } else askForAll(action, selectionFilter(chosen));
  };
  return (
    <div class="bulk-bar" role="toolbar" aria-label={t.bulk}>
      <span class="grow clip" aria-live="polite">
        {chosen.length > 0 ? texts.table.selected(chosen.length) : hasFilter ? t.allThatMatch : t.chooseFirst}
      </span>
      {chosen.length > 0 && (
        <Button kind="plain" onClick={() => void (selection.value = new Set())}>
          {texts.table.clear}
        </Button>
      )}
      {actionsOf(kind).map((action) => (
        <Button key={`${action.kind} ${action.action}`} icon={action.icon} acts disabled={reasonFor(action)} onClick={() => start(action)}>
          {nameOf(action)}
        </Button>
      ))}
    </div>
  );
}

const hasEnded = (run: BulkRun) => ["aborted", "completed", "failed"].includes(run.state);

/** The progress of the bulk run that the URL names. */
export function BulkProgress({ ended }: { ended: () => void }) {
  const id = query("bulk");
  const isRunning = useSignal(true);
  const params = { path: { id } };
  const loaded = useLoad(id === "" ? null : `bulk ${id}`, (signal) => read(api.GET("/api/v1/admin/bulk/{id}", { params, signal })), {
    ...(isRunning.value ? { every: 1000 } : {}),
  });
  const run = loaded.data?.data;
  useEffect(() => {
    isRunning.value = run === undefined || !hasEnded(run);
    if (run !== undefined && hasEnded(run)) ended();
  }, [run?.state]);
  if (id === "" || run === undefined) return null;
  const total = Math.max(1, run.matched);
  const dealt = run.done + run.failed + run.skipped;
  const abort = () => act(t.aborting, api.POST("/api/v1/admin/bulk/{id}/abort", { params })).then(loaded.reload);
  return (
    <section class="runs-progress" aria-label={t.progress}>
      <div class="row wraps">
        <Status of={run.state} />
        <strong>{t.actions[run.action] ?? run.action}</strong>
        <div
          class="progress"
          role="progressbar"
          aria-label={t.progress}
          aria-valuenow={dealt}
          aria-valuemin={0}
          aria-valuemax={total}
        >
          <span style={{ width: `${(dealt / total) * 100}%` }} />
        </div>
        <span class="number muted">{t.counts(run.done, run.matched, run.failed, run.skipped)}</span>
        {hasEnded(run) ? (
          <Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ bulk: null })} />
        ) : (
          <Button kind="danger" icon="stop" acts disabled={run.state === "aborting" ? t.aborting : null} onClick={abort}>
            {t.abort}
          </Button>
        )}
      </div>
      {run.reason !== null && <p class="bad">{run.reason}</p>}
      {run.errors.length > 0 && (
        <details>
          <summary>{t.refused(run.errors.length)}</summary>
          <ul class="runs-samples">
            {run.errors.map((error) => (
              <li key={error.id} class="row">
                <RunLink id={error.id} />
                <span class="muted grow breaks">{error.message}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
