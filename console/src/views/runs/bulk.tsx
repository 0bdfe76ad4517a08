// The bar of actions on many runs, and the question before one.

import { type Signal, signal } from "@preact/signals";
import type { BulkDryRun } from "../../api/types.ts";
import { formatCount } from "../../core/format.ts";
import { setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";
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
