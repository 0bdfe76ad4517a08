import assert from "node:assert/strict";
import { test } from "node:test";
import { clockChanges, instantsOf, offsetAt, parseSchedule } from "../src/views/schedules/cron.ts";
import { expectInstants, hasTrouble, knownSince, listInstants, moveWindow, placeMarks, ticksOf, windowOf } from "../src/views/schedules/line.ts";
import type { OccurrenceSummary } from "../src/api/types.ts";

const HOUR = 3_600_000;

/** Returns the local times with their offsets at which a schedule fires on a day, as the manual of schedules lists them. */
function fires(schedule: string, zone: string, day: string): string[] {
  const parsed = parseSchedule(schedule);
  assert.ok(parsed);
  const noon = Date.parse(`${day}T12:00:00Z`);
  const { times } = instantsOf(parsed, zone, noon - 40 * HOUR, noon + 40 * HOUR, 1000);
  const local = times.map((at) => new Date(at + (offsetAt(zone, at) ?? 0)).toISOString().slice(0, 16) + ` ${(offsetAt(zone, at) ?? 0) / HOUR}`);
  return local.filter((text) => text.startsWith(day)).map((text) => text.slice(11));
}

test("named hours fire once when the clocks change", () => {
  assert.deepEqual(fires("30 2 * * *", "Europe/Berlin", "2026-03-29"), ["03:00 2"]);
  assert.deepEqual(fires("*/10 2 * * *", "Europe/Berlin", "2026-03-29"), ["03:00 2"]);
  assert.deepEqual(fires("30 2 * * *", "Europe/Berlin", "2026-10-25"), ["02:30 2"]);
  assert.deepEqual(fires("15 2 * * *", "Australia/Lord_Howe", "2026-10-04"), ["02:30 11"]);
  assert.deepEqual(fires("@daily", "America/Santiago", "2026-09-06"), ["01:00 -3"]);
  assert.deepEqual(fires("30 23 * * *", "Africa/Cairo", "2026-10-29"), ["23:30 3"]);
  assert.deepEqual(fires("30 1,2 * * *", "Antarctica/Troll", "2026-03-29"), ["03:00 2"]);
  assert.deepEqual(fires("0 9 * * *", "Pacific/Apia", "2011-12-31"), ["00:00 14", "09:00 14"]);
});

test("wildcard hours follow elapsed time", () => {
  const near = (schedule: string, day: string) => fires(schedule, "Europe/Berlin", day).slice(0, 5);
  assert.deepEqual(near("30 * * * *", "2026-03-29").slice(0, 4), ["00:30 1", "01:30 1", "03:30 2", "04:30 2"]);
  assert.deepEqual(near("0 */2 * * *", "2026-03-29").slice(0, 2), ["00:00 1", "04:00 2"]);
  assert.deepEqual(near("30 * * * *", "2026-10-25"), ["00:30 2", "01:30 2", "02:30 2", "02:30 1", "03:30 1"]);
  assert.deepEqual(fires("0 * * * *", "Australia/Lord_Howe", "2026-04-05").slice(1, 3), ["01:00 11", "02:00 10.5"]);
});

test("days are joined as their form says", () => {
  const days = (schedule: string) => {
    const parsed = parseSchedule(schedule);
    assert.ok(parsed);
    const { times } = instantsOf(parsed, "UTC", Date.parse("2026-11-01"), Date.parse("2026-12-01"), 100);
    return times.map((at) => new Date(at).getUTCDate());
  };
  assert.deepEqual(days("0 0 0 13 * Fri"), [13]);
  assert.deepEqual(days("0 0 13 * 5"), [6, 13, 20, 27]);
  assert.deepEqual(days("0 0 */2 * 5"), [13, 27]);
  assert.deepEqual(days("0 0 0 ? Nov Mon-Tues/1"), [2, 3, 9, 10, 16, 17, 23, 24, 30]);
  assert.deepEqual(days("@weekly"), [1, 8, 15, 22, 29]);
});

test("text that is no schedule is none", () => {
  for (const text of ["", "@every 5m", "x * * * *", "0 25 * * *", "0 0 0 * * 0", "0 0 * * mon-"]) assert.equal(parseSchedule(text), null, text);
});

test("instants beyond the bound are cut", () => {
  const parsed = parseSchedule("* * * * * *");
  assert.ok(parsed);
  const found = instantsOf(parsed, "UTC", 0, 86_400_000, 500);
  assert.deepEqual([found.times.length, found.isCut], [500, true]);
});

test("clock changes have their instant and size", () => {
  const changes = clockChanges("Europe/Berlin", Date.parse("2026-03-28"), Date.parse("2026-03-30"));
  assert.deepEqual(changes, [{ at: Date.parse("2026-03-29T01:00:00Z"), by: HOUR }]);
  assert.deepEqual(clockChanges("No/Zone", 0, 86_400_000), []);
});

const row = (at: string, status: string) => ({ scheduled_for: at, status }) as OccurrenceSummary;

test("windows are days and weeks from Monday", () => {
  const present = Date.parse("2026-11-29T16:00:00Z");
  const day = windowOf("day", "", true, present);
  assert.deepEqual([day.from, day.until], [Date.parse("2026-11-29"), Date.parse("2026-11-30")]);
  const week = windowOf("week", "2026-11-29", true, present);
  assert.deepEqual([week.day, week.until], ["2026-11-23", Date.parse("2026-11-30")]);
  assert.equal(moveWindow(week, "week", 1, true), "2026-11-30");
  assert.equal(windowOf("day", "nonsense", true, present).day, "2026-11-29");
  assert.equal(ticksOf(day, "day", true).length, 8);
});

test("instants have their record or the lack of it", () => {
  const at = (hour: number) => Date.parse("2026-11-29T00:00:00Z") + hour * HOUR;
  const expected = { times: [at(1), at(2), at(3), at(5)], isDense: false };
  const instants = listInstants([row("2026-11-29T02:00:00Z", "failed"), row("2026-11-29T02:30:00Z", "completed")], expected, at(2), at(4));
  assert.deepEqual(instants.map((instant) => instant.state), ["failed", "completed", "unrecorded", "scheduled"]);
  assert.ok(hasTrouble(instants));
  const window = windowOf("day", "2026-11-29", true, at(4));
  const marks = placeMarks(instants, window, 8);
  assert.deepEqual(marks.map((mark) => `${mark.state} ${mark.count}`), ["failed 2", "unrecorded 2"]);
  assert.equal(knownSince([], { last_scheduled_for: "2026-11-01T00:00:00Z" }, window), window.from);
  assert.equal(knownSince([], { last_scheduled_for: null }, window), null);
});

test("dense schedules are not enumerated", () => {
  const window = windowOf("day", "2026-11-29", true, 0);
  const dense = expectInstants({ schedule: "* * * * *", timezone: "UTC", next_fires: [] }, window);
  assert.deepEqual(dense, { times: [], isDense: true });
  const unread = expectInstants({ schedule: "@odd", timezone: "UTC", next_fires: ["2026-11-29T05:00:00Z", "2026-12-29T05:00:00Z"] }, window);
  assert.deepEqual(unread.times, [Date.parse("2026-11-29T05:00:00Z")]);
});
