// Bodies of endpoints about one node, and of the configuration, that the committed document of the API does not have yet.

/** The refusals of one guard for one reason. */
export interface RefusalCount {
  guard: string;
  status: number;
  reason: string;
  explanation: string;
  count: number;
  last_seen: string;
}

/** The guards of a channel on one node, and the refusals that the node has counted. */
export interface ChannelStats {
  channel_id: string;
  channel: string;
  node: string;
  served: boolean;
  version: number | null;
  quarantined: string | null;
  guards: string[];
  free_permits: number | null;
  since: string | null;
  refusals: RefusalCount[];
}

/** A request to try against the guards of a channel. */
export interface GuardTrialRequest {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: unknown;
}

/** The verdict of the guards over a request. */
export interface GuardTrialResult {
  channel_id: string;
  channel: string;
  node: string;
  admitted: boolean;
  refusal: { guard: string; reason: string; explanation: string; status: number; code: string; message: string } | null;
  guards: { guard: string; result: string; note?: string }[];
}

/** A call of a connector. */
export interface ConnectorCall {
  ended_at: string;
  channel: string;
  function: string;
  target: string | null;
  ok: boolean;
  code: string | null;
  http_status: number | null;
  ms: number;
  attempts: number;
}

/** The last calls of a connector on one node, and what the node knows of the system behind it. */
export interface ConnectorCalls {
  id: string;
  name: string;
  node: string;
  load_status: string | null;
  pool: { actor: string; state: string; in_flight: number; bound: number; high_water: number } | null;
  breakers: { key: string; channel: string; state: string }[];
  token: { expires_at: string | null; error: string | null } | null;
  calls: ConnectorCall[];
}

/** A setting with its value in effect. */
export interface EffectiveSetting {
  key: string;
  value: unknown;
  source: string;
  default: unknown;
  variable: string | null;
  reloadable: boolean;
}

/** The configuration in effect on the node that answers, secrets struck out. */
export interface EffectiveConfig {
  file: string | null;
  settings: EffectiveSetting[];
}

/** The figures that a node wrote last. */
export interface NodeFigures {
  age_secs: number;
  traffic: { requests: number; errors: number; refused: number; p50_ms: number | null; p99_ms: number | null };
  channels: { channel: string; requests: number; errors: number; refused: number; p99_ms: number | null }[];
  channels_left_out: number;
  quarantined: string[];
  quarantined_left_out: number;
  tree: { nodes: number; running: number; quarantined: number; restarts: number; mailbox_depth: number };
}

/** A node that drains. */
export interface DrainedNode {
  node: string;
  accepting_for_secs: number;
  force_after_secs: number;
}
