// An entry of the audit log: its origin, the view of what it is about, and the definitions before and after. Pure.

import type { AuditLogEntry } from "../../api/types.ts";
import { fillPath, type QueryChanges } from "../../core/router.ts";

/** The origin of the request of an entry. */
export interface Origin {
  requestId: string | null;
  clientIp: string | null;
  userAgent: string | null;
  /** What the client told about the reason of the change. */
  context: unknown;
}

/** Reads the origin of an entry. */
export function readOrigin(entry: Pick<AuditLogEntry, "details">): Origin {
  let details: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(entry.details ?? "{}");
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) details = parsed as Record<string, unknown>;
  } catch {
    // Not JSON: there is nothing to show.
  }
  const text = (name: string) => (typeof details[name] === "string" ? details[name] : null);
  return { requestId: text("request_id"), clientIp: text("client_ip"), userAgent: text("user_agent"), context: details["change_context"] };
}

/** Hashes of a definition before and after a change. */
export interface Hashes {
  before: string | null;
  after: string | null;
}

/** Returns the hashes of an entry; null if its change has none. */
export function readHashes(entry: Pick<AuditLogEntry, "change">): Hashes | null {
  const hashes = entry.change?.["content_hash"];
  if (typeof hashes !== "object" || hashes === null) return null;
  const text = (name: string) => {
    const value = (hashes as Record<string, unknown>)[name];
    return typeof value === "string" ? value : null;
  };
  return { before: text("before"), after: text("after") };
}

/** A definition as it is compared. */
export type Definition = Readonly<Record<string, unknown>> & { content_hash: string };

/** Members that do not belong to the content. */
const NOT_CONTENT = ["content_hash", "created_at", "updated_at", "status", "version", "active_version", "rollout_percentage", "paused", "quarantined", "config_json", "load_status", "load_error", "load_error_stage", "id", "channel_id"];

/** Returns the content of a definition. */
export function contentOf(definition: Definition): Record<string, unknown> {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !NOT_CONTENT.includes(name)));
}

/** The definitions of an entry, as far as they are still there: `undefined` for one that is not, null for none. */
export function findContents(hashes: Hashes, known: readonly Definition[]): { before: unknown; after: unknown } {
  const find = (hash: string | null) => {
    if (hash === null) return null;
    const definition = known.find((candidate) => candidate.content_hash === hash);
    return definition === undefined ? undefined : contentOf(definition);
  };
  return { before: find(hashes.before), after: find(hashes.after) };
}

/** Returns the place of what an entry is about; null if no view has it. */
export function placeOf(entry: Pick<AuditLogEntry, "resource_type" | "resource_id">): { path: string; query?: QueryChanges } | null {
  const id = entry.resource_id;
  switch (entry.resource_type) {
    case "channel":
      return { path: fillPath("/channels/:id", { id }) };
    case "workflow":
      return { path: fillPath("/workflows/:id", { id }) };
    case "connector":
      return { path: fillPath("/connectors/:id", { id }) };
    case "plugin":
      return { path: fillPath("/plugins/:id", { id }) };
    case "trace":
    case "trace_dlq":
      return { path: fillPath("/runs/:id", { id }) };
    case "cron_occurrence":
      return { path: fillPath("/occurrences/:id", { id }) };
    case "package":
      return { path: fillPath("/packages/:name", { name: id.split("@")[0] ?? id }) };
    case "actor":
      return { path: "/actors", query: { actor: id } };
    case "bulk_run":
      return { path: "/runs", query: { bulk: id } };
    case "circuit_breaker":
      return { path: "/connectors" };
    case "kafka_partition":
      return { path: "/kafka" };
    case "node":
      return { path: "/nodes" };
    default:
      return null;
  }
}

/** Returns the instant that an id of version 7 was made at, in milliseconds; null for another id. */
export function instantOfId(id: string): number | null {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id);
  return match === null ? null : parseInt(`${match[1]}${match[2]}`, 16);
}
