// The lines of the schedules on one range of time.

import { useEffect, useRef } from "preact/hooks";
import { type Signal, useSignal } from "@preact/signals";
import type { CronStatus } from "../../api/types.ts";
import { showsUtc } from "../../core/preferences.ts";
import { query, setQuery } from "../../core/router.ts";
import { formatInstant, now } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Icon } from "../../ui/icons.tsx";
import { Status } from "../../ui/status.tsx";
import { clockChanges, offsetAt } from "./cron.ts";
import { type Expected, type Instant, type Mark, placeMarks, type Span, ticksOf, type Window } from "./line.ts";

const t = texts.schedules;

/** Pixels that a mark takes. */
const MARK = 17;

/** A schedule with what is shown of it. */
export interface Lane {
  schedule: CronStatus;
  expected: Expected;
  instants: readonly Instant[];
}

/** Returns the pause of a schedule in a sentence, or null: that of an operator, or that of a schedule that no node moved. */
export function pauseOf({ paused, paused_at: stopped }: CronStatus): string | null {
  if (paused !== undefined) return `${t.pausedFor(paused.reason)} ${t.pausedBy(paused.by)}`;
  return stopped === null ? null : t.stopped;
}

/** Returns the word of a state on a line. */
export const wordOf = (state: string): string => t.states[state] ?? texts.status[state] ?? state.replaceAll("_", " ");

/** Returns the state whose symbol a state has on a line: what was missed is not to be taken for what was skipped. */
export const lookOf = (state: string): string => (state === "skipped_misfire" ? "degraded" : state);

const percent = (at: number, window: Window): string => `${(((at - window.from) / (window.until - window.from)) * 100).toFixed(3)}%`;

/** Returns a change of the clocks as a sentence. */
function sayChange(zone: string, change: { at: number; by: number }): string {
  const offset = (offsetAt(zone, change.at) ?? 0) - change.by;
  const wall = (at: number) => formatInstant(at, true).slice(0, 16);
  return t.clock(zone, wall(change.at + offset), wall(change.at + offset + change.by).slice(11));
}

/** The changes of the clocks of the zones in the range. */
export function ClockNotes({ zones, window }: { zones: readonly string[]; window: Window }) {
  const notes = zones.flatMap((zone) => clockChanges(zone, window.from, window.until).map((change) => ({ key: `${zone} ${change.at}`, text: sayChange(zone, change) })));
  if (notes.length === 0) return null;
  return (
    <ul class="schedules-notes">
      {notes.map((note) => (
        <li key={note.key} class="row muted">
          <Icon name="clock" />
          {note.text}
        </li>
      ))}
    </ul>
  );
}

/** Moves the focus over the marks of a line by the arrow keys, Home and End. */
function walk(event: KeyboardEvent): void {
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  const step = steps[event.key];
  if (step === undefined || !(event.currentTarget instanceof HTMLElement)) return;
  const marks = [...event.currentTarget.querySelectorAll<HTMLElement>("button")];
  const at = marks.indexOf(document.activeElement as HTMLElement);
  marks[Math.max(0, Math.min(marks.length - 1, at + step))]?.focus();
  event.preventDefault();
}

function MarkButton({ mark, lane, isFirst }: { mark: Mark; lane: Lane; isFirst: boolean }) {
  const instant = new Date(mark.at).toISOString().replace(".000Z", "Z");
  const isChosen = query("schedule") === lane.schedule.channel_id && query("at") === instant;
  const label = t.mark(wordOf(mark.state), formatInstant(mark.at, showsUtc.value), mark.count);
  return (
    <button
      type="button"
      class="schedules-mark"
      style={{ left: `clamp(12px, ${(mark.place * 100).toFixed(3)}%, calc(100% - 12px))` }}
      aria-label={label}
      aria-pressed={isChosen}
      title={label}
      tabIndex={isFirst || isChosen ? 0 : -1}
      onClick={() => setQuery({ schedule: lane.schedule.channel_id, at: instant })}
    >
      <Status of={lookOf(mark.state)} text="" symbolOnly />
      {mark.count > 1 && (
        <span class="schedules-count" aria-hidden="true">
          {mark.count > 99 ? "99+" : mark.count}
        </span>
      )}
    </button>
  );
}

function LaneRow({ lane, window, slots }: { lane: Lane; window: Window; slots: number }) {
  const { schedule, expected } = lane;
  const marks = placeMarks(lane.instants, window, slots);
  const changes = clockChanges(schedule.timezone, window.from, window.until);
  const isChosen = query("schedule") === schedule.channel_id;
  return (
    <li class={`schedules-lane${isChosen ? " chosen" : ""}`}>
      <button type="button" class="schedules-name" aria-pressed={isChosen} onClick={() => setQuery({ schedule: isChosen ? null : schedule.channel_id, at: null })}>
        <span class="clip schedules-title">
          {pauseOf(schedule) !== null && <Status of="paused" text={pauseOf(schedule) ?? ""} symbolOnly />} {schedule.channel_name}
        </span>
        <span class="clip muted">
          <code>{schedule.schedule}</code> {schedule.timezone}
        </span>
      </button>
      <div class="schedules-track" role="group" aria-label={t.line(schedule.channel_name)} onKeyDown={walk}>
        {expected.isDense && <span class="schedules-dense" title={t.dense(schedule.schedule)} />}
        {expected.isDense && <span class="hidden-text">{t.dense(schedule.schedule)}</span>}
        {changes.map((change) => (
          <span key={change.at} class="schedules-change" style={{ left: percent(change.at, window) }} title={sayChange(schedule.timezone, change)} />
        ))}
        {marks.map((mark, index) => (
          <MarkButton key={mark.at} mark={mark} lane={lane} isFirst={index === 0} />
        ))}
      </div>
    </li>
  );
}

function useWidth(): [Signal<number>, { current: HTMLDivElement | null }] {
  const width = useSignal(800);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current === null) return;
    const watcher = new ResizeObserver(([entry]) => (width.value = Math.max(120, entry?.contentRect.width ?? 800)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return [width, box];
}

/** The lines under one axis of time. */
export function Lanes({ lanes, window, span }: { lanes: readonly Lane[]; window: Window; span: Span }) {
  const [width, axis] = useWidth();
  const slots = Math.floor(width.value / MARK);
  const present = now.value;
  const ticks = ticksOf(window, span, showsUtc.value);
  const isPresent = present >= window.from && present < window.until;
  return (
    <div class="schedules-lines" role="group" aria-label={t.lines}>
      <div class="schedules-axis" aria-hidden="true">
        <div class="schedules-ticks" ref={axis}>
          {ticks.map((tick) => (
            <span key={tick.at} class="number" style={{ left: percent(tick.at, window) }}>
              {tick.text}
            </span>
          ))}
          {isPresent && (
            <span class="schedules-now-label" style={{ left: percent(present, window) }}>
              {t.now}
            </span>
          )}
        </div>
      </div>
      <div class="schedules-grid" aria-hidden="true">
        <div>
          {ticks.map((tick) => (
            <span key={tick.at} style={{ left: percent(tick.at, window) }} />
          ))}
          {isPresent && <span class="schedules-now" style={{ left: percent(present, window) }} />}
        </div>
      </div>
      <ul>
        {lanes.map((lane) => (
          <LaneRow key={lane.schedule.channel_id} lane={lane} window={window} slots={slots} />
        ))}
      </ul>
    </div>
  );
}
