// The present picture of the service, folded from the events of the live stream.

import { batch, signal } from "@preact/signals";
import type { LiveActor, LiveChannel, LiveCounts, LivePayloads, LiveRun, LiveSeries, LiveTraffic, LiveTreeTotals } from "../api/live-types.ts";
import { onLive } from "./live.ts";

/** Points that are kept: an hour by second, a day by minute. */
const MOST_SECONDS = 3600;
const MOST_MINUTES = 1440;
/** Ended runs that are kept. */
const MOST_RUNS = 200;

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

/** The last runs that ended, the newest first. */
export const liveRuns = signal<readonly LiveRun[]>([]);

/** Number of runs that ended since the page was opened, those that were left out included. */
export const liveEnded = signal(0);

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
  waiting = [];
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

/** Milliseconds between two changes of what is shown. A stream that brings more is folded in between. */
const PACE = 200;

let waiting: LivePayloads["changes"][] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let shownAt = 0;

function takeChanges(changes: LivePayloads["changes"]): void {
  waiting.push(changes);
  timer ??= setTimeout(showChanges, Math.max(0, PACE - (Date.now() - shownAt)));
}

function showChanges(): void {
  const taken = waiting;
  waiting = [];
  timer = undefined;
  shownAt = Date.now();
  batch(() => {
    for (const changes of taken) fold(changes);
  });
}

function fold(changes: LivePayloads["changes"]): void {
  const at = Math.round(Date.parse(changes.at) / 1000);
  batch(() => {
    liveTraffic.value = changes.traffic;
    liveChannels.value = changes.channels;
    liveCounts.value = changes.counts;
    liveTotals.value = changes.tree.totals;
    liveSeconds.value = addPoint(liveSeconds.value, at, changes.traffic, MOST_SECONDS);
    liveMinutes.value = addToMinutes(liveMinutes.value, liveSeconds.value, at, MOST_MINUTES);
    if (changes.tree.changed.length > 0 || changes.tree.gone.length > 0) {
      const actors = new Map(liveActors.value);
      for (const actor of changes.tree.changed) actors.set(actor.path, actor);
      for (const path of changes.tree.gone) actors.delete(path);
      liveActors.value = actors;
    }
    if (changes.runs.length > 0) {
      liveRuns.value = [...changes.runs, ...liveRuns.value].slice(0, MOST_RUNS);
      liveEnded.value += changes.runs.length + changes.runs_left_out;
    }
  });
}

/** Folds the events of the stream. */
export function startLiveStore(): void {
  onLive("picture", takePicture);
  onLive("changes", takeChanges);
}
