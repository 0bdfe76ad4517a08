// Events of the live stream, `GET /api/v1/admin/live`, with the members that the console reads.

/** Messages of one period. */
export interface LiveTraffic {
  requests: number;
  errors: number;
  refused: number;
  p50_ms: number | null;
  p99_ms: number | null;
}

/** Messages of one channel in one period. */
export interface LiveChannel {
  channel: string;
  requests: number;
  errors: number;
  refused: number;
  p99_ms: number | null;
}

/** Sums over the supervision tree. */
export interface LiveTreeTotals {
  nodes: number;
  running: number;
  quarantined: number;
  restarts: number;
  mailbox_depth: number;
}

/** A node of the supervision tree. */
export interface LiveActor {
  path: string;
  state: string;
  generation: number;
  restarts: number;
  mailbox_depth: number;
  mailbox_bound: number;
  reason?: string;
}

/** Counts of work. */
export interface LiveCounts {
  queue_depth: number;
  workers_active: number;
  workers_total: number;
  waiting_paused: number;
  waiting_scheduled: number;
  waiting_share: number;
  waiting_retrying: number;
  dead_letters_waiting: number;
  dead_letters_exhausted: number;
  occurrences_due: number;
  oldest_due_secs: number | null;
  channels: number;
  channels_quarantined: number;
  channels_paused: number;
}

/** The end of a run. */
export interface LiveRun {
  id: string;
  ended_at: string;
  channel: string;
  mode: string;
  workflow: string | null;
  version: number | null;
  status: string;
  error_code: string | null;
  took_ms: number;
}

/** Points of one resolution, the oldest first. */
export interface LiveSeries {
  times: number[];
  requests: number[];
  errors: number[];
  p99_ms: (number | null)[];
}

/** Everything at one instant. */
export interface LivePicture {
  node: { id: string; name: string; version: string; uptime_secs: number };
  at: string;
  traffic: LiveTraffic;
  channels: LiveChannel[];
  channels_left_out: number;
  tree: { totals: LiveTreeTotals; nodes: LiveActor[]; left_out: number };
  counts: LiveCounts;
  history?: { seconds?: LiveSeries; minutes?: LiveSeries };
}

/** What changed in a second. */
export interface LiveChanges {
  at: string;
  traffic: LiveTraffic;
  channels: LiveChannel[];
  channels_left_out: number;
  tree: { totals: LiveTreeTotals; changed: LiveActor[]; gone: string[]; left_out: number };
  counts: LiveCounts;
  runs: LiveRun[];
  runs_left_out: number;
}

/** The data of each type of event. */
export interface LivePayloads {
  picture: LivePicture;
  changes: LiveChanges;
  /** The last event of a stream that the server ends. */
  end: { reason: string };
}

/** The type of an event. */
export type LiveType = keyof LivePayloads;
