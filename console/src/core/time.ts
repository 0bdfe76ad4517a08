// Instants and durations as people read them.

import { signal } from "@preact/signals";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The present time in milliseconds, for texts such as "3 min ago". It stands still while the tab is hidden. */
export const now = signal(Date.now());

let ticker: ReturnType<typeof setInterval> | undefined;

/** Moves `now` while the page is visible. */
export function startClock(): void {
  const follow = () => {
    clearInterval(ticker);
    now.value = Date.now();
    if (!document.hidden) ticker = setInterval(() => (now.value = Date.now()), 5 * SECOND);
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

/** Returns a duration in milliseconds with the two units that matter, such as `1.24 s` or `3 min 20 s`. */
export function formatDuration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined || Number.isNaN(milliseconds)) return "–";
  const ms = Math.abs(milliseconds);
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 2 : 1)} s`;
  if (ms < HOUR) return twoUnits(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return twoUnits(ms, HOUR, "h", MINUTE, "min");
  return twoUnits(ms, DAY, "d", HOUR, "h");
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

/** Returns the distance of an instant from now in one unit, such as `now`, `12 s`, `5 min`, `3 h`, `9 d`. */
export function formatDistance(at: number, present: number): string {
  const distance = Math.abs(present - at);
  if (distance < 2 * SECOND) return "now";
  if (distance < MINUTE) return `${Math.floor(distance / SECOND)} s`;
  if (distance < HOUR) return `${Math.floor(distance / MINUTE)} min`;
  if (distance < 2 * DAY) return `${Math.floor(distance / HOUR)} h`;
  return `${Math.floor(distance / DAY)} d`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** Returns an instant as `2026-11-29 16:05:09`, in the local zone or in UTC. */
export function formatInstant(at: number, utc: boolean): string {
  const date = new Date(at);
  if (Number.isNaN(at)) return "–";
  const parts = utc
    ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()]
    : [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes()];
  const [year, month, day, hour, minute] = parts.map(two);
  const second = two(utc ? date.getUTCSeconds() : date.getSeconds());
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** Returns an instant without its day if it is of today, and without its year if it is of this year. */
export function formatShort(at: number, present: number, utc: boolean): string {
  const text = formatInstant(at, utc);
  const today = formatInstant(present, utc);
  if (text.slice(0, 10) === today.slice(0, 10)) return text.slice(11);
  if (text.slice(0, 4) === today.slice(0, 4)) return text.slice(5, 16);
  return text.slice(0, 16);
}

let zone: string | undefined;

/** Returns the name of the local zone, such as `Europe/Berlin`. */
export function localZone(): string {
  return (zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone);
}

/** A range of time that charts and lists share. */
export interface TimeRange {
  /** Its name in the URL. */
  name: string;
  /** Its length in milliseconds. */
  length: number;
}

/** The ranges that a person can choose. */
export const RANGES: readonly TimeRange[] = [
  { name: "5m", length: 5 * MINUTE },
  { name: "15m", length: 15 * MINUTE },
  { name: "1h", length: HOUR },
  { name: "6h", length: 6 * HOUR },
  { name: "24h", length: DAY },
];

/** Returns the range of a name; an hour for a name that is not known. */
export function rangeOf(name: string): TimeRange {
  return RANGES.find((range) => range.name === name) ?? (RANGES[2] as TimeRange);
}
