// The instants of a schedule, as the service computes them (docs/cron.md): a wildcard or a step in the hour follows elapsed
// time, hours by name fire once for each local time. Pure: time zones come from the browser.

/** The fields of a schedule as sets of values. */
export interface Schedule {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  /** Whether a local day matches: day of the month, month from 1, day of the week from Sunday as 0. */
  matchesDay: (day: number, month: number, weekday: number) => boolean;
  followsElapsedTime: boolean;
}

/** A period of one offset from UTC, in milliseconds. */
export interface Period {
  start: number;
  end: number;
  offset: number;
}

/** A change of the clocks of a zone. */
export interface ClockChange {
  at: number;
  /** Milliseconds by which the clock is put forward; negative if it is put back. */
  by: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const MACROS: Record<string, string> = {
  "@hourly": "0 0 * * * *", "@daily": "0 0 0 * * *", "@weekly": "0 0 0 * * 1", "@monthly": "0 0 0 1 * *", "@yearly": "0 0 0 1 1 *",
};
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAYS = "sun mon tue wed thu fri sat".split(" ");

/** Reads a field; null if it cannot be read. `first` is the number of the first name. */
function readField(text: string, least: number, most: number, names: readonly string[] = [], first = 0): number[] | null {
  const numberOf = (word: string): number => {
    const place = names.indexOf(word.slice(0, 3).toLowerCase());
    return place >= 0 ? place + first : /^\d+$/.test(word) ? Number(word) : NaN;
  };
  const found = new Set<number>();
  for (const item of text.split(",")) {
    const [range = "", step] = item.split("/");
    const [from, until] = range === "*" || range === "?" ? [least, most] : range.split("-").map(numberOf);
    const end = until ?? (step === undefined ? from : most);
    const by = step === undefined ? 1 : Number(step);
    if (from === undefined || end === undefined || Number.isNaN(from + end + by) || by < 1 || from < least || end > most) return null;
    for (let value = from; value <= end; value += by) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
}

/** Reads a schedule; null if it is in none of the three forms. */
export function parseSchedule(text: string): Schedule | null {
  const written = MACROS[text.trim().toLowerCase()] ?? text;
  const words = written.trim().split(/\s+/);
  if (words.length !== 5 && words.length !== 6) return null;
  const isUnix = words.length === 5;
  const [second, minute, hour, day, month, weekday] = (isUnix ? ["0", ...words] : words) as [string, string, string, string, string, string];
  const seconds = readField(second, 0, 59);
  const minutes = readField(minute, 0, 59);
  const hours = readField(hour, 0, 23);
  const days = readField(day, 1, 31);
  const months = readField(month, 1, 12, MONTHS, 1);
  const weekdays = isUnix ? readField(weekday, 0, 7, DAYS) : readField(weekday, 1, 7, DAYS, 1);
  if (!seconds || !minutes || !hours || !days || !months || !weekdays) return null;
  const ofWeek = new Set(weekdays.map((value) => (isUnix ? value % 7 : value - 1)));
  const isFree = (field: string) => field.startsWith("*") || field === "?";
  const either = isUnix && !isFree(day) && !isFree(weekday);
  return {
    seconds,
    minutes,
    hours,
    matchesDay: (ofMonth, inMonth, inWeek) => {
      if (!months.includes(inMonth)) return false;
      const [fitsDay, fitsWeek] = [days.includes(ofMonth), ofWeek.has(inWeek)];
      return either ? fitsDay || fitsWeek : fitsDay && fitsWeek;
    },
    followsElapsedTime: /[*/]/.test(hour),
  };
}

const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  let made: Intl.DateTimeFormat | null = null;
  try {
    made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
    });
  } catch {
    // The browser does not know the zone: its schedules are shown without instants to come.
  }
  formats.set(zone, made);
  return made;
}

/** Returns the offset of a zone from UTC at an instant, in milliseconds; null if the browser does not know the zone. */
export function offsetAt(zone: string, at: number): number | null {
  const format = formatOf(zone);
  if (format === null) return null;
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
  const local = Date.UTC(parts["year"] ?? 0, (parts["month"] ?? 1) - 1, parts["day"], parts["hour"], parts["minute"], parts["second"]);
  return local - Math.floor(at / 1000) * 1000;
}

/** Returns the periods of one offset of a zone between two instants. */
export function offsetPeriods(zone: string, from: number, until: number): Period[] {
  const first = offsetAt(zone, from);
  if (first === null) return [];
  const periods: Period[] = [{ start: from, end: until, offset: first }];
  // Six hours: no zone changes twice within them.
  for (let low = from; low < until; low += 6 * HOUR) {
    const high = Math.min(until, low + 6 * HOUR);
    const last = periods.at(-1) as Period;
    const offset = offsetAt(zone, high) ?? last.offset;
    if (offset === last.offset) continue;
    let [before, after] = [low, high];
    while (after - before > 1000) {
      const middle = Math.floor((before + after) / 2000) * 1000;
      if (middle <= before) break;
      if (offsetAt(zone, middle) === last.offset) before = middle;
      else after = middle;
    }
    last.end = after;
    periods.push({ start: after, end: until, offset });
  }
  return periods;
}

/** Returns the changes of the clocks of a zone between two instants. */
export function clockChanges(zone: string, from: number, until: number): ClockChange[] {
  const periods = offsetPeriods(zone, from, until);
  return periods.slice(1).map((period, index) => ({ at: period.start, by: period.offset - (periods[index]?.offset ?? 0) }));
}

/** Returns the instant at which a local time that is named once fires: in a gap the first instant behind it. */
function instantOfLocal(local: number, periods: readonly Period[]): number | null {
  for (const period of periods) {
    if (local < period.start + period.offset) return period.start;
    if (local < period.end + period.offset) return local - period.offset;
  }
  return null;
}

/** What a schedule names in a range of time. */
export interface Instants {
  times: number[];
  /** Whether there are more than were asked for. */
  isCut: boolean;
}

/** Returns the instants from `from` up to but without `until`, at most `most`. */
export function instantsOf(schedule: Schedule, zone: string, from: number, until: number, most: number): Instants {
  const periods = offsetPeriods(zone, from - 2 * DAY, until + 2 * DAY);
  const times: number[] = [];
  const add = (at: number): boolean => {
    if (at >= from && at < until && at !== times.at(-1)) times.push(at);
    return times.length > most;
  };
  if (schedule.followsElapsedTime) {
    for (const period of periods) {
      const [start, end] = [Math.max(period.start, from), Math.min(period.end, until)];
      if (start < end && eachLocal(schedule, start + period.offset, end + period.offset, (local) => add(local - period.offset))) break;
    }
  } else {
    const [first, last] = [periods[0], periods.at(-1)];
    if (first === undefined || last === undefined) return { times, isCut: false };
    // A day of margin on both sides: a local time in a gap fires later than its name says.
    eachLocal(schedule, from + first.offset - DAY, until + last.offset + DAY, (local) => {
      const at = instantOfLocal(local, periods);
      return at !== null && add(at);
    });
  }
  return { times: times.slice(0, most), isCut: times.length > most };
}

/** Visits the local times of a range in their order, as if they were in UTC, until `visit` returns true. */
function eachLocal(schedule: Schedule, from: number, until: number, visit: (local: number) => boolean): boolean {
  for (let day = Math.floor(from / DAY) * DAY; day < until; day += DAY) {
    const date = new Date(day);
    if (!schedule.matchesDay(date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay())) continue;
    for (const hour of schedule.hours) {
      const start = day + hour * HOUR;
      if (start + HOUR <= from || start >= until) continue;
      for (const minute of schedule.minutes) {
        for (const second of schedule.seconds) {
          const local = start + minute * 60_000 + second * 1000;
          if (local >= from && local < until && visit(local)) return true;
        }
      }
    }
  }
  return false;
}
