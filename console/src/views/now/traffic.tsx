// Traffic, errors and latency over the range, the busiest channels, and the counts of work.

import { useMemo } from "preact/hooks";
import type { LiveSeries } from "../../api/live-types.ts";
import { formatCompact, formatRate, formatShare } from "../../core/format.ts";
import { liveState } from "../../core/live.ts";
import { liveChannels, liveCounts, liveMinutes, liveSeconds, liveTraffic } from "../../core/live-store.ts";
import { go, href } from "../../core/router.ts";
import { formatDuration, type TimeRange } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Chart } from "../../ui/chart.tsx";
import { Callout, Panel } from "../../ui/content.tsx";
import { NodeNote } from "../../ui/node-note.tsx";

const t = texts.now;

/** Longest range in milliseconds that is drawn by second. */
const BY_SECOND = 15 * 60_000;
/** Points of a chart; more than there are pixels cost time and show nothing. */
const MOST_POINTS = 720;
/** Seconds without a point after which a line is broken. */
const GAP_SECONDS = 5;
/** Channels that are shown. */
const CHANNELS = 6;

/** Series as a chart draws them. */
export interface Drawn {
  times: number[];
  requests: (number | null)[];
  errors: (number | null)[];
  p99: (number | null)[];
}

/** Returns the points of a range: joined if there are many, with a gap where nobody watched. */
export function drawSeries(series: LiveSeries, from: number, step: number): Drawn {
  const drawn: Drawn = { times: [], requests: [], errors: [], p99: [] };
  const first = series.times.findIndex((time) => time >= from);
  if (first < 0) return drawn;
  const size = Math.max(1, Math.ceil((series.times.length - first) / MOST_POINTS));
  for (let start = first; start < series.times.length; start += size) {
    const end = Math.min(series.times.length, start + size);
    const at = series.times[end - 1] ?? 0;
    const before = drawn.times.at(-1);
    if (before !== undefined && at - before > Math.max(GAP_SECONDS, 3) * step * size) {
      drawn.times.push(before + step);
      for (const values of [drawn.requests, drawn.errors, drawn.p99]) values.push(null);
    }
    const mean = (values: readonly number[]) => values.slice(start, end).reduce((sum, value) => sum + value, 0) / (end - start);
    const slow = series.p99_ms.slice(start, end).filter((value): value is number => value !== null);
    drawn.times.push(at);
    drawn.requests.push(mean(series.requests));
    drawn.errors.push(mean(series.errors));
    drawn.p99.push(slow.length === 0 ? null : Math.max(...slow));
  }
  return drawn;
}

/** Returns the minutes, followed by the seconds since the last of them. */
export function joinSeries(minutes: LiveSeries, seconds: LiveSeries): LiveSeries {
  const last = minutes.times.at(-1) ?? -Infinity;
  const first = seconds.times.findIndex((time) => time > last);
  if (first < 0) return minutes;
  return {
    times: [...minutes.times, ...seconds.times.slice(first)],
    requests: [...minutes.requests, ...seconds.requests.slice(first)],
    errors: [...minutes.errors, ...seconds.errors.slice(first)],
    p99_ms: [...minutes.p99_ms, ...seconds.p99_ms.slice(first)],
  };
}

function Figure({ name, value, to, isBad }: { name: string; value: string; to?: string; isBad?: boolean }) {
  const inner = (
    <>
      <span class={`value${isBad ? " bad" : ""}`}>{value}</span>
      <span class="name">{name}</span>
    </>
  );
  return to === undefined ? <div class="figure">{inner}</div> : <a class="figure figure-link" href={to}>{inner}</a>;
}

/** The figures of now. */
export function Figures() {
  const [traffic, counts] = [liveTraffic.value, liveCounts.value];
  if (liveState.value === "absent") return null;
  const share = traffic === null || traffic.requests === 0 ? 0 : traffic.errors / traffic.requests;
  const waiting = counts === null ? null : counts.queue_depth + counts.waiting_paused + counts.waiting_scheduled + counts.waiting_share + counts.waiting_retrying;
  const number = (value: number | null | undefined) => (value === null || value === undefined ? "–" : formatCompact(value));
  return (
    <div class="figures">
      <Figure name={t.requests} value={traffic === null ? "–" : formatRate(traffic.requests)} />
      <Figure name={t.errorShare} value={traffic === null ? "–" : formatShare(share)} isBad={share > 0.01} />
      <Figure name={t.p99} value={formatDuration(traffic?.p99_ms)} />
      <Figure name={t.waiting} value={number(waiting)} to={href("/runs", { status: "pending,scheduled,retrying" })} />
      <Figure
        name={t.deadLetters}
        value={number(counts === null ? null : counts.dead_letters_waiting + counts.dead_letters_exhausted)}
        to={href("/runs", { kind: "dead_letters" })}
        isBad={(counts?.dead_letters_exhausted ?? 0) > 0}
      />
      <Figure name={t.due} value={number(counts?.occurrences_due)} to={href("/runs", { kind: "occurrences", status: "pending" })} />
    </div>
  );
}

function BusyChannels() {
  const rows = [...liveChannels.value].sort((a, b) => b.requests - a.requests).slice(0, CHANNELS);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map((row) => row.requests), 0.001);
  return (
    <Panel title={t.busiest} flush>
      <ul class="lines">
        {rows.map((row) => (
          <li key={row.channel}>
            <a class="line" href={href("/runs", { channel: row.channel })}>
              <span class="line-name clip">{row.channel}</span>
              <span class="meter" aria-hidden="true">
                <span style={{ width: `${(row.requests / most) * 100}%` }} />
              </span>
              <span class="number now-rate">{formatRate(row.requests)}</span>
              <span class={`number now-errors${row.errors > 0 ? " bad" : " faint"}`}>
                {formatRate(row.errors)} <span class="hidden-text">{t.errors}</span>
              </span>
              <span class="number now-p99 muted">{formatDuration(row.p99_ms)}</span>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The charts and the busiest channels. */
export function Traffic({ range }: { range: TimeRange }) {
  const bySecond = range.length <= BY_SECOND;
  const [seconds, minutes] = [liveSeconds.value, liveMinutes.value];
  const series = useMemo(() => (bySecond ? seconds : joinSeries(minutes, seconds)), [bySecond, seconds, minutes]);
  const until = series.times.at(-1) ?? Math.floor(Date.now() / 1000);
  const from = until - range.length / 1000;
  const drawn = useMemo(() => drawSeries(series, from, bySecond ? 1 : 60), [series, from, bySecond]);
  const choose = (start: number, end: number) => {
    const text = (seconds: number) => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
    go("/runs", { since: text(start), until: text(end) });
  };
  const common = { times: drawn.times, group: "now", from, until, onChoose: choose, height: 150 };
  const lines = useMemo(
    () => ({
      traffic: [
        { name: t.requests, hue: "--series-1", values: drawn.requests, isFilled: true },
        { name: t.errors, hue: "--bad", values: drawn.errors, line: "dashed" as const },
      ],
      latency: [{ name: t.p99, hue: "--series-2", values: drawn.p99 }],
    }),
    [drawn],
  );
  if (liveState.value === "absent") return <Callout>{t.noStream}</Callout>;
  return (
    <>
      <div class="grid">
        <Panel title={t.traffic} note={<NodeNote />}>
          <Chart label={t.traffic} series={lines.traffic} format={(value) => formatRate(value)} {...common} />
        </Panel>
        <Panel title={t.latency}>
          <Chart label={t.latency} series={lines.latency} format={(value) => formatDuration(value)} {...common} />
        </Panel>
      </div>
      <BusyChannels />
    </>
  );
}
