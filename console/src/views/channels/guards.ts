// The guards of a channel: which apply, in their order, and what they have refused.

/** The guards in the order in which a request meets them. */
const ORDER = [
  "rate_limit", "auth", "principal_rate_limit", "quota", "origin_allow_list", "request.schema", "validation_logic",
  "deduplication", "cache", "backpressure",
] as const;

/** Refusals of one guard for one reason. */
export interface RefusalCount {
  guard: string;
  status: number;
  reason: string;
  explanation: string;
  count: number;
  last_seen: string;
}

/** The guards of a channel on one node, with what the node has counted. */
export interface ChannelStats {
  channel: string;
  node: string;
  served: boolean;
  version: number | null;
  quarantined: string | null;
  guards: readonly string[];
  free_permits: number | null;
  since: string | null;
  refusals: readonly RefusalCount[];
}

/** A guard as the view shows it. */
export interface Guard {
  name: string;
  /** Its settings in a line. */
  settings: string;
  refused: number;
  reasons: readonly RefusalCount[];
  /** Whether it is a guard of the configuration, not a place of its own such as `body` or `pause`. */
  isSet: boolean;
}

const MOST_SETTINGS = 160;

/** Returns settings as a line: scalars as they are, the rest by its size. */
export function settingsLine(value: unknown): string {
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.every((item) => typeof item !== "object") ? value.join(", ").slice(0, MOST_SETTINGS) : `[${value.length}]`;
  const parts = Object.entries(value).map(([name, inner]) => {
    if (inner !== null && typeof inner === "object") return `${name} ${Array.isArray(inner) ? `[${inner.length}]` : "{…}"}`;
    return `${name} ${String(inner)}`;
  });
  return parts.join(", ").slice(0, MOST_SETTINGS);
}

/** Returns the settings of a guard; of `request.schema` those within the block `request`. */
function settingsOf(config: Record<string, unknown>, guard: string): unknown {
  return guard.split(".").reduce<unknown>((block, key) => {
    return block !== null && typeof block === "object" ? (block as Record<string, unknown>)[key] : undefined;
  }, config);
}

/** Returns the guards of a channel: those of its configuration, then those that only have counts. */
export function guardsOf(config: Record<string, unknown>, stats: ChannelStats | undefined): Guard[] {
  const counted = new Map<string, RefusalCount[]>();
  for (const refusal of stats?.refusals ?? []) counted.set(refusal.guard, [...(counted.get(refusal.guard) ?? []), refusal]);
  const isOn = (name: string) => {
    const settings = settingsOf(config, name);
    return settings !== undefined && settings !== null && settings !== true;
  };
  const names = stats !== undefined && stats.served ? [...stats.guards] : ORDER.filter((name) => isOn(name));
  const others = [...counted.keys()].filter((name) => !names.includes(name));
  return [...names, ...others].map((name): Guard => {
    const reasons = counted.get(name) ?? [];
    const settings = settingsOf(config, name);
    const isSet = settings !== undefined && settings !== null;
    return {
      name,
      settings: isSet ? settingsLine(settings) : "",
      refused: reasons.reduce((sum, reason) => sum + reason.count, 0),
      reasons: [...reasons].sort((a, b) => b.count - a.count),
      isSet: names.includes(name),
    };
  });
}

/** A channel as its state goes. */
export interface StatefulChannel {
  name: string;
  status: string;
  active_version?: number;
  version: number;
  paused?: unknown;
}

/** Returns the state of a channel: what keeps it from serving comes first. */
export function stateOf(channel: StatefulChannel, quarantined: ReadonlySet<string>): string {
  const serves = channel.active_version !== undefined || channel.status === "active";
  if (!serves) return channel.status;
  if (quarantined.has(channel.name)) return "quarantined";
  return channel.paused === undefined || channel.paused === null ? "active" : "paused";
}

/** Returns how a channel is reached. */
export function entryOf(channel: {
  protocol: string;
  methods: readonly string[] | null;
  route_pattern: string | null;
  topic: string | null;
  transport_config: Record<string, unknown>;
}): string {
  if (channel.protocol === "kafka") return channel.topic ?? "";
  if (channel.protocol === "cron") {
    const { schedule, timezone } = channel.transport_config;
    return [schedule, timezone].filter((part) => typeof part === "string").join(" ");
  }
  return [(channel.methods ?? []).join(", "), channel.route_pattern].filter(Boolean).join(" ");
}
