// One schedule: its facts, why an instant ran or did not, and the instants of the line as a list.

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import type { ScheduleExplanation } from "../../api/types.ts";
import { shellQuote } from "../../core/format.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query, setQuery } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, Facts, LoadProblem, Panel, RunLink, Skeleton } from "../../ui/content.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { askForBackfill, askForTrigger, resume } from "./acts.tsx";
import { type Lane, lookOf, pauseOf, wordOf } from "./lanes.tsx";
import type { Instant, Window } from "./line.ts";

const t = texts.schedules;

const EVERY = 5000;
/** Reasons of an explanation that are no trouble. */
const CALM = ["completed", "running", "claimed", "pending", "ahead", "not_due", "unplanned"];

const isoOf = (at: number): string => new Date(at).toISOString().replace(".000Z", "Z");

const COLUMNS: readonly Column<Instant>[] = [
  { name: "at", title: t.columns.at, width: "172px", cell: (instant) => <Moment at={isoOf(instant.at)} as="full" /> },
  { name: "state", title: t.columns.state, cell: (instant) => <Status of={lookOf(instant.state)} text={wordOf(instant.state)} /> },
  { name: "trigger", title: t.columns.trigger, width: "92px", rank: 2, cell: (instant) => instant.row && <span class="tag">{instant.row.trigger}</span> },
  {
    name: "late",
    title: t.columns.late,
    width: "104px",
    rank: 3,
    isNumber: true,
    cell: ({ row, at }) => (row?.started_at ? formatDuration(Math.max(0, Date.parse(row.started_at) - at)) : <span class="faint">–</span>),
  },
  {
    name: "took",
    title: t.columns.took,
    width: "92px",
    isNumber: true,
    cell: ({ row }) => (row?.started_at && row.completed_at ? formatDuration(Date.parse(row.completed_at) - Date.parse(row.started_at)) : <span class="faint">–</span>),
  },
];

function occurrencePath(id: string): string {
  return href(fillPath("/occurrences/:id", { id }));
}

function Explanation({ why }: { why: ScheduleExplanation }) {
  const { occurrence, previous, next, holders } = why;
  return (
    <>
      <Callout {...(CALM.includes(why.reason) ? { kind: "run" as const } : { kind: "warn" as const })} role="status">
        {why.sentence}
      </Callout>
      <Facts
        facts={[
          [
            t.occurrence,
            occurrence && (
              <a class="link" href={occurrencePath(occurrence.id)}>
                {occurrence.status.replaceAll("_", " ")}
              </a>
            ),
          ],
          [t.run, occurrence?.trace_id && <RunLink id={occurrence.trace_id} />],
          [t.position, why.position === undefined ? null : String(why.position)],
          [
            t.holders,
            holders === undefined || holders.length === 0 ? null : (
              <ul>
                {holders.map((holder) => (
                  <li key={holder.occurrence_id}>
                    <a class="link" href={occurrencePath(holder.occurrence_id)}>
                      {holder.channel_name}
                    </a>{" "}
                    <span class="muted">{holder.claimed_by}</span>
                  </li>
                ))}
              </ul>
            ),
          ],
          [
            t.previous,
            previous && (
              <a class="link" href={occurrencePath(previous.id)}>
                <Moment at={previous.scheduled_for} as="full" />
              </a>
            ),
          ],
          [t.after, next && <Moment at={next} as="full" />],
        ]}
      />
      {why.clock.is_off && <Callout kind="warn">{t.clockOff(why.clock.offset_ms)}</Callout>}
    </>
  );
}

function Why({ lane }: { lane: Lane }) {
  const id = lane.schedule.channel_id;
  const at = query("at");
  const typed = useSignal(at);
  useEffect(() => {
    typed.value = at;
  }, [at]);
  const params = { path: { id }, query: at === "" ? {} : { at } };
  const loaded = useLoad(`why ${id} ${at}`, (signal) => read(api.GET("/api/v1/admin/channels/{id}/why", { params, signal })), { every: EVERY });
  // What ran since then has another reason: a backfill, a retry, a resume.
  const states = `${pauseOf(lane.schedule)} ${lane.instants.map((instant) => instant.state).join(" ")}`;
  const known = useRef(states);
  useEffect(() => {
    if (known.current === states) return;
    known.current = states;
    loaded.reload();
  }, [states]);
  const explain = (event: Event) => {
    event.preventDefault();
    setQuery({ at: typed.value.trim() });
  };
  const command = `svc-cli why ${shellQuote(id)}${at === "" ? "" : ` --at ${shellQuote(at)}`}`;
  return (
    <Panel title={t.why}>
      <div class="stack schedules-why">
        <form class="row" onSubmit={explain}>
          <label class="hidden-text" for="why-at">
            {t.at}
          </label>
          <input
            id="why-at"
            class="input mono grow"
            placeholder="2026-11-29T02:30:00Z"
            title={t.atHint}
            spellcheck={false}
            value={typed.value}
            onInput={(event) => (typed.value = event.currentTarget.value)}
          />
          <Button type="submit">{t.explain}</Button>
        </form>
        <LoadProblem of={loaded} />
        {loaded.data ? <Explanation why={loaded.data.data} /> : loaded.problem === undefined && <Skeleton lines={3} />}
        <CommandLine command={command} />
      </div>
    </Panel>
  );
}

/** The schedule that is chosen. */
export function Detail({ lane, window, reload }: { lane: Lane; window: Window; reload: () => void }) {
  const { schedule } = lane;
  const at = query("at");
  const chosen = /^\d/.test(at) ? Date.parse(at) : NaN;
  const range = Number.isNaN(chosen)
    ? { from: isoOf(window.from), until: isoOf(Math.min(window.until, Math.floor(Date.now() / 1000) * 1000)) }
    : { from: isoOf(chosen), until: isoOf(chosen + 1000) };
  const { slots, slots_held: held } = schedule;
  return (
    <>
      <div class="grid">
        <Panel
          title={schedule.channel_name}
          note={pauseOf(schedule) !== null && <Status of="paused" />}
          actions={
            <>
              {schedule.paused && (
                <Button kind="primary" icon="play" acts onClick={() => resume(schedule, reload)}>
                  {texts.channels.resume}
                </Button>
              )}
              <Button icon={schedule.paused ? "clock" : "play"} acts onClick={() => askForTrigger(schedule, reload)}>
                {t.trigger}
              </Button>
              <Button icon="rerun" acts onClick={() => askForBackfill(schedule, range)}>
                {t.backfill}
              </Button>
            </>
          }
        >
          {schedule.paused && (
            <Callout kind="warn" icon="pause" role="status">
              <p>{pauseOf(schedule)}</p>
              <p class="row wraps muted">
                <Moment at={schedule.paused.since} />
                {schedule.paused.until === null ? texts.channels.untilResumed : <Moment at={schedule.paused.until} as="full" />}
                <a class="link" href={href(fillPath("/channels/:id", { id: schedule.channel_id }))}>
                  {t.openChannel}
                </a>
              </p>
            </Callout>
          )}
          <Facts
            facts={[
              [t.expression, <code>{schedule.schedule}</code>],
              [t.zone, schedule.timezone],
              [t.next, schedule.next_fire_at && <Moment at={schedule.next_fire_at} as="full" />],
              [
                t.last,
                schedule.last_scheduled_for && (
                  <span class="row">
                    <Moment at={schedule.last_scheduled_for} as="full" />
                    {schedule.last_status && <Status of={schedule.last_status} />}
                  </span>
                ),
              ],
              [t.pending, schedule.pending > 0 ? String(schedule.pending) : null],
              [t.policy, schedule.concurrency_policy],
              [t.key, schedule.singleton_key],
              [texts.schedules.facts, slots === undefined ? null : t.slots(held ?? 0, slots)],
              [t.paused, schedule.paused_at && <Moment at={schedule.paused_at} as="full" />],
            ]}
          />
        </Panel>
        <Why lane={lane} />
      </div>
      <Panel title={t.instants} flush note={lane.expected.isDense ? <span class="faint">{t.denseNote}</span> : undefined}>
        <Table
          label={t.instants}
          rows={lane.instants}
          rowKey={(instant) => String(instant.at)}
          columns={COLUMNS}
          rowAddress={(instant) =>
            instant.row === null
              ? href("/schedules", { ...Object.fromEntries(["span", "day"].map((name) => [name, query(name)])), schedule: schedule.channel_id, at: isoOf(instant.at) })
              : occurrencePath(instant.row.id)
          }
          isFree
          empty={<Empty text={t.noInstants} command={`svc-cli cron list --channel-id ${shellQuote(schedule.channel_id)}`} />}
        />
      </Panel>
    </>
  );
}
