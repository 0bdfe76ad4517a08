// Runs: calls, accepted work, occurrences, records and dead letters in one list with one filter.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import { filterParameters, toggleValue } from "../../core/filters.ts";
import { formatBounded, formatCount } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { type Source, usePages } from "../../core/pages.ts";
import { go, href, place, query, setQuery } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { definitionNames } from "../../layout/names.ts";
import { texts } from "../../texts.ts";
import { Button, Segments } from "../../ui/button.tsx";
import { Empty, ViewHead } from "../../ui/content.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { ListTable } from "../../ui/list.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { BulkLine } from "../../ui/bulk-progress.tsx";
import { BulkBar } from "./bulk.tsx";
import { ErrorGroups } from "./groups.tsx";
import { deadLetterRow, occurrenceRow, type RunRow, traceRow } from "./rows.ts";
import { type Kind, KINDS, listCommand, splitFilter, wordsOf } from "./words.ts";

const t = texts.runs;

const LIMIT = 100;
/** Milliseconds between two looks for new rows. */
const EVERY = 5000;

const COLUMNS: readonly Column<RunRow>[] = [
  {
    name: "channel",
    title: t.columns.channel,
    width: "24%",
    cell: (row) => (
      <span class="row">
        <Status of={row.status} symbolOnly />
        <span class="clip runs-channel">{row.channel}</span>
      </span>
    ),
  },
  { name: "what", title: t.columns.outcome, cell: (row) => <Outcome row={row} /> },
  { name: "mode", title: t.columns.mode, width: "84px", rank: 2, cell: (row) => <span class="tag">{row.mode}</span> },
  {
    name: "workflow",
    title: t.columns.workflow,
    width: "16%",
    rank: 3,
    cell: (row) => (row.workflow === null ? <span class="faint">–</span> : <span class="muted">{`${row.workflow} v${row.version ?? "?"}`}</span>),
  },
  { name: "attempt", title: t.columns.attempt, width: "72px", rank: 3, isNumber: true, cell: (row) => (row.attempt > 1 ? row.attempt : <span class="faint">1</span>) },
  { name: "took", title: t.columns.took, width: "92px", rank: 2, isNumber: true, cell: (row) => formatDuration(row.durationMs) },
  { name: "time", title: t.columns.time, width: "104px", isNumber: true, cell: (row) => <Moment at={row.time} /> },
];

function Outcome({ row }: { row: RunRow }) {
  if (row.error === null && row.errorCode === null) return <span class="muted">{texts.status[row.status] ?? row.status}</span>;
  return (
    <span title={row.error ?? undefined}>
      {row.errorCode !== null && <code class="runs-code">{row.errorCode}</code>} <span class="muted">{row.error}</span>
    </span>
  );
}

/** Returns the sources of a list, which are read by the same filter. */
function sourcesOf(kind: Kind, filter: Readonly<Record<string, string>>): Source<RunRow>[] {
  const { traces, occurrences, deadLetters } = splitFilter(kind, filter);
  const sources: Source<RunRow>[] = [];
  const params = (words: Record<string, string>, cursor: string | null) => ({ query: { ...words, limit: LIMIT, ...(cursor === null ? {} : { cursor }) } });
  if (traces !== null) {
    sources.push({
      name: "traces",
      load: async (cursor, signal) => {
        const page = await read(api.GET("/api/v1/admin/traces", { params: params(traces, cursor), signal }));
        return { rows: page.data.map(traceRow), next: page.next_cursor ?? null, scannedUntil: page.scanned_until ?? null };
      },
    });
  }
  if (occurrences !== null) {
    sources.push({
      name: "occurrences",
      load: async (cursor, signal) => {
        const page = await read(api.GET("/api/v1/admin/cron/occurrences", { params: params(occurrences, cursor), signal }));
        return { rows: page.data.map(occurrenceRow), next: page.next_cursor ?? null };
      },
    });
  }
  if (deadLetters !== null) {
    sources.push({
      name: "dead letters",
      load: async (cursor, signal) => {
        const page = await read(api.GET("/api/v1/admin/trace-dlq", { params: params(deadLetters, cursor), signal }));
        return { rows: page.data.map(deadLetterRow), next: page.next_cursor ?? null };
      },
    });
  }
  return sources;
}

/** Reads the number of rows by status, whichever status is chosen. */
async function readCounts(kind: Kind, filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Record<string, number>> {
  const { status: _, ...rest } = filter;
  const { traces, occurrences, deadLetters } = splitFilter(kind, rest);
  const params = (words: Record<string, string>) => ({ query: { ...words, limit: 1, include_counts: true } });
  const counts: Record<string, number> = {};
  const add = (found: Record<string, number> | undefined, known?: readonly string[]) => {
    for (const [status, count] of Object.entries(found ?? {})) {
      if (known === undefined || known.includes(status)) counts[status] = (counts[status] ?? 0) + count;
    }
  };
  if (traces !== null) add((await read(api.GET("/api/v1/admin/traces", { params: params(traces), signal }))).counts);
  if (occurrences !== null) {
    const found = await read(api.GET("/api/v1/admin/cron/occurrences", { params: params(occurrences), signal }));
    add(found.counts, kind === "all" ? occurrences["status"]?.split(",") : undefined);
  }
  if (deadLetters !== null) add((await read(api.GET("/api/v1/admin/trace-dlq", { params: params(deadLetters), signal }))).counts);
  return counts;
}

function StateChips({ statuses, counts }: { statuses: readonly string[]; counts: Readonly<Record<string, number>> }) {
  const chosen = query("status").split(",");
  const shown = statuses.filter((status) => (counts[status] ?? 0) > 0 || chosen.includes(status));
  return (
    <div class="runs-states" role="group" aria-label={t.columns.status}>
      {shown.map((status) => (
        <button
          type="button"
          key={status}
          class="runs-state"
          aria-pressed={chosen.includes(status)}
          onClick={() => setQuery({ status: toggleValue(query("status"), status, true) })}
        >
          <Status of={status} />
          <span class="number muted" title={formatCount(counts[status] ?? 0)}>
            {formatBounded(counts[status] ?? 0)}
          </span>
        </button>
      ))}
    </div>
  );
}

function readKind(): Kind {
  const text = query("kind");
  return (KINDS as readonly string[]).includes(text) ? (text as Kind) : "all";
}

function RunList({ kind, filter }: { kind: Kind; filter: Readonly<Record<string, string>> }) {
  const name = `${kind} ${JSON.stringify(filter)}`;
  const list = usePages(name, sourcesOf(kind, filter), EVERY);
  const selection = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => {
    selection.value = new Set();
  }, [name]);
  const group = texts.keys.groups.list;
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: list.reload },
    { keys: "Escape", does: texts.table.clear, group, run: () => (selection.value = new Set()) },
  ]);
  return (
    <>
      <BulkLine ended={list.reload} />
      <ListTable
        label={texts.views.runs}
        list={list}
        rows={list.rows}
        rowKey={(row) => row.key}
        columns={COLUMNS}
        rowAddress={(row) => href(row.path)}
        selection={selection}
        news={{ count: list.newCount, show: list.reload }}
        more={list.hasMore ? list.more : null}
        note={list.scannedUntil === null ? undefined : <span>{texts.table.scanned} <Moment at={list.scannedUntil} /></span>}
        empty={<Empty text={Object.keys(filter).length === 0 ? t.none : t.noMatch} command={listCommand(kind, filter)} />}
      />
      <BulkBar kind={kind} filter={filter} rows={list.rows} selection={selection} reload={list.reload} />
    </>
  );
}

/** The view of runs. */
export default function Runs() {
  const kind = readKind();
  const words = wordsOf(kind);
  const filter = filterParameters(place.value.query, words);
  const byError = query("by") === "error";
  const { status: _, ...withoutStatus } = filter;
  const counts = useLoad(`counts ${kind} ${JSON.stringify(withoutStatus)}`, (signal) => readCounts(kind, filter, signal), { every: EVERY * 2, keep: true });
  const wantsNames = useSignal(false);
  const names = useLoad(wantsNames.value ? "names" : null, () => definitionNames());
  const known = {
    channel: names.data?.channels.map((row) => row.name) ?? [],
    workflow: names.data?.workflows.map((row) => row.id) ?? [],
  };
  const kinds = KINDS.map((value) => ({ value, text: t.kinds[value] }));
  return (
    <>
      <ViewHead title={texts.views.runs}>
        {!byError && (
          <Segments label={t.kind} options={kinds} value={kind} onChange={(value) => go("/runs", { ...withoutStatus, kind: value === "all" ? null : value })} />
        )}
        <Button icon="alert" pressed={byError} onClick={() => setQuery({ by: byError ? null : "error" })}>
          {t.byError}
        </Button>
      </ViewHead>
      <div class="view-body flush">
        <FilterBar words={words} counts={{ status: counts.data ?? {} }} known={known} prepare={() => (wantsNames.value = true)} />
        {byError ? (
          <ErrorGroups filter={filter} />
        ) : (
          <>
            <StateChips statuses={words[0]?.values ?? []} counts={counts.data ?? {}} />
            <RunList kind={kind} filter={filter} />
          </>
        )}
      </div>
    </>
  );
}
