// Instants, ranges and durations on the page.

import { query, setQuery } from "../core/router.ts";
import { showsUtc } from "../core/preferences.ts";
import { formatDistance, formatInstant, formatShort, localZone, now, RANGES, rangeOf } from "../core/time.ts";
import { texts } from "../texts.ts";
import { Segments } from "./button.tsx";

/** Milliseconds between two moves of the clock of the page. */
const TICK = 5000;

/** An instant in the local zone; the hint has it in UTC and in full. */
export function Moment({ at, as = "short" }: { at: string | null | undefined; as?: "short" | "full" | "distance" }) {
  if (at === null || at === undefined) return <span class="faint">–</span>;
  const time = Date.parse(at);
  const utc = showsUtc.value;
  const hint = `${formatInstant(time, true)} ${texts.time.utc}\n${formatInstant(time, false)} ${localZone()}`;
  // The clock of the page moves every few seconds: what has just happened is not to be shown as to come.
  const isAhead = time > now.value + TICK;
  const distance = formatDistance(isAhead ? time : Math.min(time, now.value), now.value);
  const shown = {
    short: () => formatShort(time, now.value, utc),
    full: () => formatInstant(time, utc),
    distance: () => (isAhead ? texts.time.in(distance) : texts.time.ago(distance)),
  };
  return (
    <time class="number" dateTime={at} title={hint}>
      {shown[as]()}
    </time>
  );
}

/** The range of time of all charts, kept in the URL over all views. */
export function RangePicker() {
  const range = rangeOf(query("range"));
  const options = RANGES.map(({ name }) => ({ value: name, text: texts.range.names[name] ?? name }));
  return (
    <Segments label={texts.range.label} options={options} value={range.name} onChange={(name) => setQuery({ range: name })} />
  );
}
