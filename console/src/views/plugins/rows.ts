// Versions of plugins gathered by plugin, and what their manifests say. Pure.

import type { Plugin } from "../../api/types.ts";

/** A plugin with its versions, the newest first. */
export interface PluginRow {
  id: string;
  versions: readonly Plugin[];
  latest: Plugin;
  /** The version that serves. */
  serving: Plugin | undefined;
  /** Its state: that of the component on this node if a version serves, else that of the newest version. */
  state: string;
}

/** Returns a plugin of its versions; null without one. */
export function rowOf(versions: readonly Plugin[]): PluginRow | null {
  const sorted = [...versions].sort((a, b) => b.version - a.version);
  const latest = sorted[0];
  if (latest === undefined) return null;
  const serving = sorted.find((version) => version.status === "active");
  return { id: latest.plugin_id, versions: sorted, latest, serving, state: serving?.load ?? serving?.status ?? latest.status };
}

const GRAVE = ["failed", "compiling"];

/** Gathers versions by plugin, those with a problem first. */
export function gatherPlugins(versions: readonly Plugin[]): PluginRow[] {
  const byId = new Map<string, Plugin[]>();
  for (const version of versions) byId.set(version.plugin_id, [...(byId.get(version.plugin_id) ?? []), version]);
  const gravity = ({ state }: PluginRow) => (GRAVE.indexOf(state) + GRAVE.length + 1) % (GRAVE.length + 1);
  const rows = [...byId.values()].map(rowOf).filter((row) => row !== null);
  return rows.sort((a, b) => gravity(a) - gravity(b) || a.id.localeCompare(b.id));
}

/** A function of a plugin. */
export interface PluginFunction {
  /** The name by which workflows call it. */
  name: string;
  description: string;
  inputs: string;
}

const listOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? (value as unknown[]).filter((item) => typeof item === "object" && item !== null) as Record<string, unknown>[] : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the functions of a version; an input that may be missing has a question mark. */
export function functionsOf({ plugin_id: id, manifest }: Pick<Plugin, "plugin_id" | "manifest">): PluginFunction[] {
  return listOf(manifest["functions"]).map((found) => ({
    name: `${id}.${textOf(found["name"])}`,
    description: textOf(found["description"]),
    inputs: listOf(found["input_fields"]).map((field) => `${textOf(field["name"])}${field["required"] === true ? "" : "?"}: ${textOf(field["kind"])}`).join(", "),
  }));
}

/** Returns whether a plugin, or one of its functions, has a name with this text. */
export function fits(row: PluginRow, search: string): boolean {
  const names = [row.id, ...row.versions.flatMap(functionsOf).map((found) => found.name)];
  return names.some((name) => name.toLowerCase().includes(search.toLowerCase()));
}
