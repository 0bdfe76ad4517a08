// Names of definitions for the palette and for filters, read once a minute at most.

import { api, read } from "../api/client.ts";
import type { Command } from "../core/commands.ts";
import { fillPath, go } from "../core/router.ts";
import { texts } from "../texts.ts";
import { VIEWS } from "../views/registry.ts";

/** Rows that one call reads; the palette of a larger service finds the rest by the lists. */
const MOST = 1000;
const MILLISECONDS = 60_000;

/** Names of the definitions of the service. */
export interface DefinitionNames {
  channels: readonly { id: string; name: string }[];
  workflows: readonly { id: string; name: string }[];
  connectors: readonly { id: string; name: string }[];
  plugins: readonly { id: string; name: string }[];
}

let known: { at: number; names: Promise<DefinitionNames> } | null = null;

async function readNames(): Promise<DefinitionNames> {
  const params = { query: { limit: MOST } };
  const [channels, workflows, connectors, plugins] = await Promise.all([
    read(api.GET("/api/v1/admin/channels", { params })),
    read(api.GET("/api/v1/admin/workflows", { params })),
    read(api.GET("/api/v1/admin/connectors", { params })),
    read(api.GET("/api/v1/admin/plugins", { params })),
  ]);
  return {
    channels: channels.data.map((row) => ({ id: row.channel_id, name: row.name })),
    workflows: workflows.data.map((row) => ({ id: row.workflow_id, name: row.name })),
    connectors: connectors.data.map((row) => ({ id: row.id, name: row.name })),
    // The list has every version.
    plugins: [...new Set(plugins.data.map((row) => row.plugin_id))].map((id) => ({ id, name: id })),
  };
}

/** Returns the names of the definitions. */
export function definitionNames(): Promise<DefinitionNames> {
  if (known === null || Date.now() - known.at > MILLISECONDS) {
    known = { at: Date.now(), names: readNames() };
    known.names.catch(() => (known = null));
  }
  return known.names;
}

/** Returns commands that open definitions; those whose view is not there are left out. */
export async function findNames(cancelled: AbortSignal): Promise<readonly Command[]> {
  const names = await definitionNames();
  if (cancelled.aborted) return [];
  const kinds = [
    ["channel", names.channels],
    ["workflow", names.workflows],
    ["connector", names.connectors],
    ["plugin", names.plugins],
  ] as const;
  return kinds.flatMap(([name, rows]) => {
    const view = VIEWS.find((candidate) => candidate.name === name);
    if (view === undefined) return [];
    const group = texts.views[view.title];
    return rows.map((row) => ({ text: row.name, group, run: () => go(fillPath(view.path, { id: row.id })) }));
  });
}
