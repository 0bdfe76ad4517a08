// The line of a schedule: a range of time, and the marks on it. Pure: the same facts give the same marks.

import type { CronStatus, OccurrenceSummary } from "../../api/types.ts";
import { instantsOf, parseSchedule } from "./cron.ts";

/** The lengths of a line. */
export const SPANS = ["day", "week"] as const;

/** The length of a line. */
export type Span = (typeof SPANS)[number];

/** A range of time in milliseconds. */
export interface Window {
  from: number;
  until: number;
  /** Its first day, as `2026-11-29`. */
  day: string;
}

const DAY = 86_400_000;

/** Instants of one line that are drawn one by one; a line with more shows only what went wrong. */
export const MOST_INSTANTS = 200;

const dayOf = (at: number, utc: boolean): string => {
  const date = new Date(at);
  const parts = utc ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()] : [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
};

/** Returns the start of the day that is `days` after the day of a text; of today if the text is none. */
function startOfDay(text: string, days: number, utc: boolean, present: number): number {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{4})-(\d{2})-(\d{2})$/.exec(dayOf(present, utc));
  const [year, month, day] = (match ?? []).slice(1).map(Number) as [number, number, number];
  return utc ? Date.UTC(year, month - 1, day + days) : new Date(year, month - 1, day + days).getTime();
}

/** Returns the range of a day, or of the week from Monday that has the day. */
export function windowOf(span: Span, text: string, utc: boolean, present: number): Window {
  const start = startOfDay(text, 0, utc, present);
  const weekday = utc ? new Date(start).getUTCDay() : new Date(start).getDay();
  const back = span === "day" ? 0 : -((weekday + 6) % 7);
  const day = dayOf(startOfDay(dayOf(start, utc), back, utc, present), utc);
  return { from: startOfDay(day, 0, utc, present), until: startOfDay(day, span === "day" ? 1 : 7, utc, present), day };
}

/** Returns the first day of the range before or after one. */
export function moveWindow(window: Window, span: Span, steps: number, utc: boolean): string {
  return dayOf(startOfDay(window.day, steps * (span === "day" ? 1 : 7), utc, window.from), utc);
}

/** A label on the line of time. */
export interface Tick {
  at: number;
  text: string;
}

/** Returns the labels of a range: every third hour of a day, or the days of a week. */
export function ticksOf(window: Window, span: Span, utc: boolean): Tick[] {
  const ticks: Tick[] = [];
  if (span === "week") {
    for (let days = 0; days < 7; days++) {
      const at = startOfDay(window.day, days, utc, window.from);
      ticks.push({ at, text: dayOf(at, utc).slice(5) });
    }
    return ticks;
  }
  for (let hour = 0; hour < 24; hour += 3) {
    const date = new Date(window.from);
    const at = utc ? window.from + (hour * DAY) / 24 : new Date(date.getFullYear(), date.getMonth(), date.getDate(), hour).getTime();
    ticks.push({ at, text: `${String(hour).padStart(2, "0")}:00` });
  }
  return ticks;
}

/** What the schedule names in the range; null where the browser cannot tell. */
export interface Expected {
  times: readonly number[];
  /** Whether there are too many to be drawn one by one. */
  isDense: boolean;
}

/** Returns the instants that a schedule names in a range. */
export function expectInstants(schedule: Pick<CronStatus, "schedule" | "timezone" | "next_fires">, window: Window): Expected {
  const parsed = parseSchedule(schedule.schedule);
  if (parsed === null) {
    const times = schedule.next_fires.map((text) => Date.parse(text)).filter((at) => at >= window.from && at < window.until);
    return { times, isDense: false };
  }
  const { times, isCut } = instantsOf(parsed, schedule.timezone, window.from, window.until, MOST_INSTANTS);
  return isCut ? { times: [], isDense: true } : { times, isDense: false };
}

/** An instant of a schedule: what became of it, or that it is to come. */
export interface Instant {
  at: number;
  /** The status of its occurrence, `scheduled` for one to come, `unrecorded` for one in the past without a record. */
  state: string;
  row: OccurrenceSummary | null;
}

/** States by their gravity: of marks that fall together, the first is shown. */
const ORDER = [
  "failed", "skipped_misfire", "unrecorded", "skipped_singleton", "cancelled", "running", "claimed", "pending", "completed", "scheduled",
];

const rankOf = (state: string): number => (ORDER.indexOf(state) + ORDER.length) % ORDER.length;

/** Milliseconds for which an instant may go unrecorded before it counts as such. */
const GRACE = 10_000;

/**
 * Returns the instants of a schedule in a range, in their order. `since` is the instant before which the schedule may not
 * have existed, so that nothing is missed there; null if it is not known.
 */
export function listInstants(
  rows: readonly OccurrenceSummary[],
  expected: Expected,
  since: number | null,
  present: number,
): Instant[] {
  const recorded = new Map(rows.map((row) => [Date.parse(row.scheduled_for), row]));
  const instants: Instant[] = [...recorded].map(([at, row]) => ({ at, state: row.status, row }));
  for (const at of expected.times) {
    if (recorded.has(at)) continue;
    if (at > present - GRACE) instants.push({ at, state: "scheduled", row: null });
    else if (since !== null && at >= since) instants.push({ at, state: "unrecorded", row: null });
  }
  return instants.sort((a, b) => a.at - b.at);
}

/** Returns the instant since which a schedule is known to exist. */
export function knownSince(rows: readonly OccurrenceSummary[], schedule: Pick<CronStatus, "last_scheduled_for">, window: Window): number | null {
  const last = schedule.last_scheduled_for === null ? NaN : Date.parse(schedule.last_scheduled_for);
  if (last < window.from) return window.from;
  const first = Math.min(...rows.map((row) => Date.parse(row.scheduled_for)));
  return Number.isFinite(first) ? first : null;
}

/** A mark on a line: one instant, or several that are too close to each other. */
export interface Mark extends Instant {
  /** Its place from 0 to 1. */
  place: number;
  /** Number of instants that it stands for. */
  count: number;
}

/** Places instants on a line of `slots` places; those of one place become one mark, which shows the gravest. */
export function placeMarks(instants: readonly Instant[], window: Window, slots: number): Mark[] {
  const length = window.until - window.from;
  const marks: Mark[] = [];
  let slotBefore = -1;
  for (const instant of instants) {
    const place = (instant.at - window.from) / length;
    const slot = Math.floor(place * slots);
    const last = marks.at(-1);
    if (last === undefined || slot !== slotBefore) marks.push({ ...instant, place, count: 1 });
    else if (rankOf(instant.state) < rankOf(last.state)) marks[marks.length - 1] = { ...instant, place: last.place, count: last.count + 1 };
    else last.count++;
    slotBefore = slot;
  }
  return marks;
}

/** Returns whether something of a line needs a look. */
export function hasTrouble(instants: readonly Instant[]): boolean {
  return instants.some((instant) => ["failed", "skipped_misfire", "unrecorded"].includes(instant.state));
}
