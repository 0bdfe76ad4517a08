// What needs attention, gathered from health, nodes and counts. Pure: the same facts give the same list.

import type { LiveCounts } from "../../api/live-types.ts";
import type { Health, Node } from "../../api/types.ts";
import { fillPath } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";

/** Something that needs attention. */
export interface Concern {
  /** Its state, as symbols show it. */
  state: string;
  /** Its name: a channel, a connector, a node. */
  name: string;
  text: string;
  /** The instant since which it is so. */
  since?: string | undefined;
  /** The path of the view that shows more. */
  path: string;
  query?: Record<string, string>;
}

const t = texts.now;

/** Seconds for which an occurrence may be due before it counts as late. */
const LATE_SECONDS = 60;
/** Milliseconds in a handler after which the service counts an actor as blocked. */
const BLOCKED_MS = 1000;

/** Whether a component is there and not well. */
const isDegraded = (state: string | undefined): boolean => state !== undefined && state !== "ok";

function channelConcerns(health: Health): Concern[] {
  const quarantined = health.channels?.quarantined ?? [];
  const paused = health.channels?.paused ?? [];
  return [
    ...quarantined.map((row) => ({
      state: "quarantined",
      name: row.channel,
      text: t.quarantined(row.reason),
      path: "/channels",
      query: { q: row.channel },
    })),
    ...paused.map((row) => ({
      state: "paused",
      name: row.channel,
      text: t.paused(row.by, row.reason),
      since: row.since,
      path: "/channels",
      query: { q: row.channel },
    })),
  ];
}

function connectorConcerns(health: Health): Concern[] {
  const breakers = Object.entries(health.connectors?.circuit_breakers ?? {});
  const open = breakers.filter(([, state]) => state !== "closed");
  const failed = health.connectors?.failed_to_load ?? [];
  return [
    ...open.map(([key, state]) => {
      const [channel = "", connector = "", ...more] = key.split(":");
      const words = state.replaceAll("_", " ");
      // Names may have colons themselves: such a key is shown as it is.
      const [name, text] = more.length === 0 ? [connector, t.breaker(channel, words)] : [key, t.breakerOf(words)];
      return { state: state === "open" ? "open" : "half_open", name, text, path: "/connectors" };
    }),
    ...failed.map((row) => ({ state: "failed", name: row.connector, text: t.notLoaded(row.stage, row.reason), path: "/connectors" })),
  ];
}

function nodeConcerns(nodes: readonly Node[]): Concern[] {
  const live = nodes.filter((node) => node.status === "live");
  const gone = nodes.filter((node) => node.status === "expired");
  const versions = new Set(live.map((node) => node.version));
  const epochs = live.map((node) => node.applied_epoch ?? 0);
  const newest = Math.max(0, ...epochs);
  const behind = live.filter((node) => (node.applied_epoch ?? 0) < newest);
  return [
    ...gone.map((node) => ({ state: "expired", name: node.id, text: t.nodeGone, since: node.lease_until, path: "/nodes" })),
    ...(versions.size > 1 ? [{ state: "degraded", name: t.nodes, text: t.versionsDiffer([...versions].sort()), path: "/nodes" }] : []),
    ...behind.map((node) => ({ state: "degraded", name: node.id, text: t.epochBehind(newest - (node.applied_epoch ?? 0)), path: "/nodes" })),
  ];
}

function workConcerns(health: Health | undefined, counts: LiveCounts | null): Concern[] {
  const exhausted = counts?.dead_letters_exhausted ?? health?.dead_letters?.exhausted ?? 0;
  const late = counts?.oldest_due_secs ?? health?.cron?.oldest_pending_age_secs ?? 0;
  const concerns: Concern[] = [];
  if (exhausted > 0) {
    concerns.push({ state: "exhausted", name: t.deadLetters, text: t.exhausted(exhausted), path: "/runs", query: { kind: "dead_letters", status: "exhausted" } });
  }
  if (late > LATE_SECONDS) {
    concerns.push({ state: "degraded", name: t.schedules, text: t.late(late), path: "/runs", query: { kind: "occurrences", status: "pending" } });
  }
  return concerns;
}

function serviceConcerns(health: Health): Concern[] {
  const concerns: Concern[] = [];
  const add = (state: string, name: string, text: string | null | undefined, path: string) => {
    if (text) concerns.push({ state, name, text, path });
  };
  add("error", t.database, health.database?.reason, "/nodes");
  add("error", t.redis, health.cluster_redis?.reason, "/nodes");
  add("degraded", t.kafka, health.kafka?.problem, "/kafka");
  for (const problem of health.kafka?.ingest ?? []) add("degraded", t.kafka, problem, "/kafka");
  add("degraded", t.certificate, health.tls?.reason, "/nodes");
  add("degraded", t.descriptors, health.descriptors?.reason, "/nodes");
  add("degraded", t.schedules, health.cron?.reason, "/schedules");
  add("degraded", t.epoch, health.epoch?.problem, "/nodes");
  if (isDegraded(health.components.engine_reload)) add("degraded", t.reload, t.reloadFailed, "/audit");
  for (const actor of health.actors?.nodes ?? []) {
    if (actor.state === "quarantined" && !actor.path.startsWith("channels/")) {
      add("quarantined", actor.path, t.actorQuarantined, "/actors");
    }
    if (actor.state === "restarting") add("degraded", actor.path, t.actorRestarts, "/actors");
    if ((actor.busy_ms ?? 0) >= BLOCKED_MS) add("degraded", actor.path, t.actorBlocked(formatDuration(actor.busy_ms ?? 0)), "/actors");
  }
  // The service states these by the name of the component alone.
  if (isDegraded(health.components.engine)) add("degraded", t.engine, t.engineFailed, "/actors");
  if (isDegraded(health.components.webhooks)) add("degraded", t.webhooks, t.webhooksWait, "/actors");
  if (isDegraded(health.components.cron) && !health.cron) add("degraded", t.schedules, t.schedulesOff, "/configuration");
  for (const { plugin_id: id, reason } of health.plugins?.failed ?? []) add("failed", id, t.pluginFailed(reason), fillPath("/plugins/:id", { id }));
  for (const note of health.notes ?? []) add("scheduled", t.note, note, "/configuration");
  return concerns;
}

const ORDER = ["error", "quarantined", "failed", "open", "exhausted", "expired", "degraded", "half_open", "paused", "scheduled"];

/** Returns what needs attention, the gravest first. */
export function findConcerns(health: Health | undefined, nodes: readonly Node[] | undefined, counts: LiveCounts | null): Concern[] {
  const concerns = [
    ...(health === undefined ? [] : [...serviceConcerns(health), ...channelConcerns(health), ...connectorConcerns(health)]),
    ...nodeConcerns(nodes ?? []),
    ...workConcerns(health, counts),
  ];
  return concerns.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
}
