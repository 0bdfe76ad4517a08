// Schedules: what was due, ran, was missed or skipped, on the line of a day or a week, and why.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { api, read } from "../../api/client.ts";
import type { operations } from "../../api/schema.d.ts";
import type { CronStatus, OccurrenceSummary } from "../../api/types.ts";
import { useCommands } from "../../core/commands.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { showsUtc } from "../../core/preferences.ts";
import { query, setQuery } from "../../core/router.ts";
import { now } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button, Segments } from "../../ui/button.tsx";
import { Callout, Empty, LoadProblem, Panel, Skeleton, ViewBody, ViewHead } from "../../ui/content.tsx";
import { BulkLine } from "../../ui/bulk-progress.tsx";
import { SearchBox } from "../../ui/list.tsx";
import { Status } from "../../ui/status.tsx";
import { Detail } from "./detail.tsx";
import { ClockNotes, type Lane, Lanes, lookOf, wordOf } from "./lanes.tsx";
import { type Expected, expectInstants, hasTrouble, knownSince, listInstants, moveWindow, type Span, windowOf, type Window } from "./line.ts";

const t = texts.schedules;

const EVERY = 5000;
/** Milliseconds between two reads of a range that is over. */
const EVERY_PAST = 60_000;
/** Lines that are drawn before more are asked for. */
const PAGE = 40;
const ROWS = 1000;
/** Pages of occurrences that are read for one range. */
const PAGES = 3;
const UNUSUAL: OccurrenceStatus[] = ["failed", "skipped_misfire", "skipped_singleton", "cancelled", "claimed", "running"];
const LEGEND = ["completed", "running", "pending", "scheduled", "failed", "skipped_misfire", "skipped_singleton", "unrecorded", "cancelled"];

type OccurrenceStatus = NonNullable<NonNullable<operations["listOccurrences"]["parameters"]["query"]>["status"]>[number];

/** A schedule and what it names. */
interface Planned {
  schedule: CronStatus;
  expected: Expected;
}

interface Rows {
  rows: readonly OccurrenceSummary[];
  isCut: boolean;
}

async function readRows(ids: readonly string[], window: Window, status: OccurrenceStatus[] | null, signal: AbortSignal): Promise<Rows> {
  const rows: OccurrenceSummary[] = [];
  if (ids.length === 0) return { rows, isCut: false };
  const range = { since: new Date(window.from).toISOString(), until: new Date(window.until - 1).toISOString() };
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const words = { ...range, channel_id: [...ids], limit: ROWS, ...(status === null ? {} : { status }), ...(cursor === undefined ? {} : { cursor }) };
    const answer = await read(api.GET("/api/v1/admin/cron/occurrences", { params: { query: words }, signal }));
    rows.push(...answer.data);
    cursor = answer.next_cursor ?? undefined;
    if (cursor === undefined) return { rows, isCut: false };
  }
  return { rows, isCut: true };
}

/** Reads the occurrences of the lines: all of them, but of dense lines those that did not complete. */
async function readOccurrences(planned: readonly Planned[], window: Window, signal: AbortSignal): Promise<Rows> {
  const idsOf = (isDense: boolean) => planned.filter((line) => line.expected.isDense === isDense).map((line) => line.schedule.channel_id);
  const [all, unusual] = await Promise.all([readRows(idsOf(false), window, null, signal), readRows(idsOf(true), window, UNUSUAL, signal)]);
  return { rows: [...all.rows, ...unusual.rows], isCut: all.isCut || unusual.isCut };
}

function toLanes(planned: readonly Planned[], rows: readonly OccurrenceSummary[], window: Window, present: number): Lane[] {
  const byChannel = new Map<string, OccurrenceSummary[]>();
  for (const row of rows) {
    // Until a new range is read, the rows are those of the range before.
    const at = Date.parse(row.scheduled_for);
    if (at < window.from || at >= window.until) continue;
    const own = byChannel.get(row.channel_id);
    if (own === undefined) byChannel.set(row.channel_id, [row]);
    else own.push(row);
  }
  return planned.map(({ schedule, expected }) => {
    const own = byChannel.get(schedule.channel_id) ?? [];
    return { schedule, expected, instants: listInstants(own, expected, knownSince(own, schedule, window), present) };
  });
}

const readSpan = (): Span => (query("span") === "week" ? "week" : "day");

function Legend() {
  return (
    <ul class="schedules-legend" aria-label={t.legend}>
      {LEGEND.map((state) => (
        <li key={state}>
          <Status of={lookOf(state)} text={wordOf(state)} />
        </li>
      ))}
    </ul>
  );
}

/** The view of schedules. */
export default function Schedules() {
  const span = readSpan();
  const utc = showsUtc.value;
  const shown = useSignal(PAGE);
  const present = now.value;
  const window = windowOf(span, query("day"), utc, present);
  const status = useLoad("cron status", (signal) => read(api.GET("/api/v1/admin/cron/status", { signal })), { every: EVERY });
  const search = query("q").toLowerCase();
  const chosenId = query("schedule");

  const matching = useMemo(() => {
    const rows = [...(status.data?.data ?? [])].sort((a, b) => a.channel_name.localeCompare(b.channel_name));
    return rows.filter((row) => row.channel_name.toLowerCase().includes(search) || row.channel_id === chosenId);
  }, [status.data, search, chosenId]);
  const cut = matching.filter((row, index) => index < shown.value || row.channel_id === chosenId);
  const planned = useMemo(
    () => cut.map((schedule) => ({ schedule, expected: expectInstants(schedule, window) })),
    [matching, shown.value, window.from, window.until],
  );
  const ids = planned.map((line) => line.schedule.channel_id).join(",");
  const isOver = window.until < present;
  const rows = useLoad(
    planned.length === 0 ? null : `occurrences ${window.from} ${window.until} ${ids}`,
    (signal) => readOccurrences(planned, window, signal),
    { every: isOver ? EVERY_PAST : EVERY, keep: true },
  );
  const all = useMemo(() => toLanes(planned, rows.data?.rows ?? [], window, present), [planned, rows.data, present]);
  const onlyTrouble = query("trouble") === "1";
  const lanes = onlyTrouble ? all.filter((lane) => hasTrouble(lane.instants) || lane.schedule.channel_id === chosenId) : all;
  const chosen = all.find((lane) => lane.schedule.channel_id === chosenId);

  const reload = () => {
    status.reload();
    rows.reload();
  };
  const move = (steps: number) => setQuery({ day: moveWindow(window, span, steps, utc) });
  const { group } = { group: texts.keys.groups.view };
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: reload },
    { keys: "[", does: t.earlier, group, run: () => move(-1) },
    { keys: "]", does: t.later, group, run: () => move(1) },
    { keys: "t", does: t.today, group, run: () => setQuery({ day: null }) },
    { keys: "w", does: span === "day" ? t.spans.week : t.spans.day, group, run: () => setQuery({ span: span === "day" ? "week" : null }) },
    ...(chosenId === "" ? [] : [{ keys: "Escape", does: texts.page.close, group, run: () => setQuery({ schedule: null, at: null }) }]),
  ]);
  useCommands(matching.slice(0, 500).map((row) => ({ text: row.channel_name, group: texts.views.schedules, run: () => setQuery({ schedule: row.channel_id, at: null }) })));

  const zones = [...new Set([...(utc ? [] : [Intl.DateTimeFormat().resolvedOptions().timeZone]), ...lanes.map((lane) => lane.schedule.timezone)])];
  const rest = matching.length - cut.length;
  const hasNone = status.data !== undefined && status.data.data.length === 0;
  return (
    <>
      <ViewHead title={texts.views.schedules}>
        <Segments label={t.span} options={[{ value: "day", text: t.spans.day }, { value: "week", text: t.spans.week }]} value={span} onChange={(value) => setQuery({ span: value === "day" ? null : value })} />
        <div class="row">
          <Button icon="left" label={t.earlier} onClick={() => move(-1)} />
          <input
            class="input"
            type="date"
            aria-label={t.spans[span]}
            value={window.day}
            onChange={(event) => setQuery({ day: event.currentTarget.value })}
          />
          <Button icon="chevron" label={t.later} onClick={() => move(1)} />
          <Button onClick={() => setQuery({ day: null })}>{t.today}</Button>
        </div>
      </ViewHead>
      <ViewBody>
        <BulkLine ended={reload} />
        <LoadProblem of={status} />
        <LoadProblem of={rows} />
        {rows.data?.isCut === true && <Callout kind="warn">{t.cut}</Callout>}
        <Panel
          title={t.lines}
          flush
          actions={
            <>
              <SearchBox label={t.search} class="schedules-search" />
              <Button icon="alert" pressed={onlyTrouble} label={t.onlyTrouble} onClick={() => setQuery({ trouble: onlyTrouble ? null : "1" })} />
            </>
          }
        >
          {status.data === undefined && status.problem === undefined && (
            <div class="panel-body">
              <Skeleton lines={5} />
            </div>
          )}
          {lanes.length > 0 && <Lanes lanes={lanes} window={window} span={span} />}
          {status.data !== undefined && lanes.length === 0 && <Empty icon="schedules" text={hasNone ? t.none : t.noMatch} command="svc-cli cron status" />}
          {rest > 0 && (
            <div class="table-note">
              <Button onClick={() => void (shown.value += PAGE * 2)}>{t.more(rest)}</Button>
            </div>
          )}
          <div class="schedules-foot">
            <ClockNotes zones={zones} window={window} />
            <Legend />
          </div>
        </Panel>
        {chosen ? <Detail lane={chosen} window={window} reload={reload} /> : lanes.length > 0 && <p class="muted">{t.choose}</p>}
      </ViewBody>
    </>
  );
}
