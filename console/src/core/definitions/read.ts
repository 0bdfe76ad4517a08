// All definitions of a kind, read page by page: a list of them is filtered on the page itself.

import { api, read } from "../../api/client.ts";
import type { Channel, Connector, Plugin, Workflow } from "../../api/types.ts";

/** Rows of one call. */
const LIMIT = 1000;
/** Rows that are read at most; the rest is found by `svc-cli`. */
const MOST = 10_000;

/** Definitions, and the number of those that were left out. */
export interface AllOf<T> {
  rows: readonly T[];
  leftOut: number;
}

async function readAll<T>(page: (offset: number) => Promise<{ data: T[]; total: number }>): Promise<AllOf<T>> {
  const rows: T[] = [];
  for (;;) {
    const { data, total } = await page(rows.length);
    rows.push(...data);
    if (data.length === 0 || rows.length >= Math.min(total, MOST)) return { rows, leftOut: Math.max(0, total - rows.length) };
  }
}

/** Reads the latest version of every channel. */
export function readChannels(signal: AbortSignal): Promise<AllOf<Channel>> {
  return readAll((offset) => read(api.GET("/api/v1/admin/channels", { params: { query: { limit: LIMIT, offset, sort_by: "name", sort_order: "asc" } }, signal })));
}

/** Reads the latest version of every channel of which a version serves. */
export function readActiveChannels(signal: AbortSignal): Promise<AllOf<Channel>> {
  const query = { limit: LIMIT, status: ["active" as const], sort_by: "name" as const, sort_order: "asc" as const };
  return readAll((offset) => read(api.GET("/api/v1/admin/channels", { params: { query: { ...query, offset } }, signal })));
}

/** Reads the latest version of every workflow. */
export function readWorkflows(signal: AbortSignal): Promise<AllOf<Workflow>> {
  return readAll((offset) => read(api.GET("/api/v1/admin/workflows", { params: { query: { limit: LIMIT, offset, sort_by: "name", sort_order: "asc" } }, signal })));
}

/** Reads every connector. */
export function readConnectors(signal: AbortSignal): Promise<AllOf<Connector>> {
  return readAll((offset) => read(api.GET("/api/v1/admin/connectors", { params: { query: { limit: LIMIT, offset } }, signal })));
}

/** Reads the versions of every plugin. */
export function readPlugins(signal: AbortSignal): Promise<AllOf<Plugin>> {
  return readAll((offset) => read(api.GET("/api/v1/admin/plugins", { params: { query: { limit: LIMIT, offset } }, signal })));
}
