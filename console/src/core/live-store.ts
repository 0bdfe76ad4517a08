// The present picture of the service, folded from the events of the live stream.

import { batch, type Signal, signal } from "@preact/signals";
import type { LiveActor, LiveChannel, LiveCounts, LivePayloads, LiveSeries, LiveTraffic, LiveTreeTotals } from "../api/live-types.ts";
import { onLive } from "./live.ts";

/** Points that are kept: an hour by second, a day by minute. */
const MOST_SECONDS = 3600;
const MOST_MINUTES = 1440;

const none = (): LiveSeries => ({ times: [], requests: [], errors: [], p99_ms: [] });

/** The node of the stream. */
export const liveNode = signal<LivePayloads["picture"]["node"] | null>(null);

/** The messages of the last second. */
export const liveTraffic = signal<LiveTraffic | null>(null);

/** The channels with messages in the last second. */
export const liveChannels = signal<readonly LiveChannel[]>([]);

/** The counts of work. */
export const liveCounts = signal<LiveCounts | null>(null);

/** The sums over the supervision tree. */
export const liveTotals = signal<LiveTreeTotals | null>(null);

/** The nodes of the supervision tree by their path; those with nothing to report may be left out. */
export const liveActors = signal<ReadonlyMap<string, LiveActor>>(new Map());

/** Points by second. */
export const liveSeconds = signal<LiveSeries>(none());

/** Points by minute. */
export const liveMinutes = signal<LiveSeries>(none());

/** Adds a point to a series; one of the same or an earlier time is left out. */
export function addPoint(series: LiveSeries, at: number, traffic: LiveTraffic, most: number): LiveSeries {
  if (at <= (series.times.at(-1) ?? -Infinity)) return series;
  const from = Math.max(0, series.times.length + 1 - most);
  return {
    times: [...series.times.slice(from), at],
    requests: [...series.requests.slice(from), traffic.requests],
    errors: [...series.errors.slice(from), traffic.errors],
    p99_ms: [...series.p99_ms.slice(from), traffic.p99_ms],
  };
}

/** Adds a second to the minute that it belongs to. */
export function addToMinutes(minutes: LiveSeries, seconds: LiveSeries, at: number, most: number): LiveSeries {
  const minute = Math.floor(at / 60) * 60;
  if (minute <= (minutes.times.at(-1) ?? -Infinity)) return minutes;
  const first = seconds.times.findIndex((time) => time > minute - 60);
  const last = seconds.times.findLastIndex((time) => time <= minute);
  if (first < 0 || last < first) return minutes;
  const part = <T>(values: readonly T[]) => values.slice(first, last + 1);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const p99 = part(seconds.p99_ms).filter((value): value is number => value !== null);
  const traffic: LiveTraffic = {
    requests: mean(part(seconds.requests)),
    errors: mean(part(seconds.errors)),
    refused: 0,
    p50_ms: null,
    p99_ms: p99.length === 0 ? null : Math.max(...p99),
  };
  return addPoint(minutes, minute, traffic, most);
}

/** Whether the service has another version than when the page was loaded. */
export const isOutdated = signal(false);

let firstVersion: string | null = null;

function takePicture(picture: LivePayloads["picture"]): void {
  firstVersion ??= picture.node.version;
  due.clear();
  batch(() => {
    isOutdated.value = picture.node.version !== firstVersion;
    if (liveNode.value !== null && liveNode.value.id !== picture.node.id) {
      liveSeconds.value = none();
      liveMinutes.value = none();
    }
    liveNode.value = picture.node;
    liveTraffic.value = picture.traffic;
    liveChannels.value = picture.channels;
    liveCounts.value = picture.counts;
    liveTotals.value = picture.tree.totals;
    liveActors.value = new Map(picture.tree.nodes.map((node) => [node.path, node]));
    if (picture.history?.seconds) liveSeconds.value = picture.history.seconds;
    if (picture.history?.minutes) liveMinutes.value = picture.history.minutes;
  });
}

/** Milliseconds between two signals that change: each has a frame of its own, which none of them fills. */
const PACE = 100;

/** What signals are about to become, the first one next. */
const due = new Map<Signal<unknown>, unknown>();
let timer: ReturnType<typeof setTimeout> | undefined;
let shownAt = 0;

/** Changes a signal in its turn, to the newest value that it has by then. */
export function showLater<T>(shown: Signal<T>, value: T): void {
  if (value === latest(shown)) return;
  due.set(shown as Signal<unknown>, value);
  timer ??= setTimeout(showNext, Math.max(0, PACE - (Date.now() - shownAt)));
}

function showNext(): void {
  timer = undefined;
  const [next] = due;
  if (next === undefined) return;
  const [shown, value] = next;
  due.delete(shown);
  shownAt = Date.now();
  if (due.size > 0) timer = setTimeout(showNext, PACE);
  shown.value = value;
}

/** Returns what a signal is about to become. */
export const latest = <T>(shown: Signal<T>): T => (due.get(shown as Signal<unknown>) as T | undefined) ?? shown.peek();

function takeChanges(changes: LivePayloads["changes"]): void {
  const at = Math.round(Date.parse(changes.at) / 1000);
  const { changed, gone, totals } = changes.tree;
  showLater(liveTraffic, changes.traffic);
  showLater(liveChannels, changes.channels);
  showLater(liveCounts, changes.counts);
  if (JSON.stringify(totals) !== JSON.stringify(latest(liveTotals))) showLater(liveTotals, totals);
  const seconds = addPoint(latest(liveSeconds), at, changes.traffic, MOST_SECONDS);
  showLater(liveSeconds, seconds);
  showLater(liveMinutes, addToMinutes(latest(liveMinutes), seconds, at, MOST_MINUTES));
  if (changed.length + gone.length === 0) return;
  const actors = new Map(latest(liveActors));
  for (const actor of changed) actors.set(actor.path, actor);
  for (const path of gone) actors.delete(path);
  showLater(liveActors, actors);
}

/** Folds the events of the stream. */
export function startLiveStore(): void {
  onLive("picture", takePicture);
  onLive("changes", takeChanges);
}
