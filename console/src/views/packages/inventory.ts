// The inventory of a package, compared with another version of it and with what is here. Pure.

import type { PackageReceipt, Plugin } from "../../api/types.ts";

/** The kinds of entries. */
export const KINDS = ["channels", "workflows", "connectors", "plugins"] as const;

/** An entry of an inventory. */
export interface InventoryEntry {
  kind: (typeof KINDS)[number];
  id: string;
}

/** Returns the entries of a receipt, by kind and id. */
export function listEntries(receipt: Pick<PackageReceipt, "inventory"> | null | undefined): InventoryEntry[] {
  const inventory = receipt?.inventory;
  if (inventory === undefined || inventory === null) return [];
  // A receipt without plugins does not name them.
  return KINDS.flatMap((kind) => [...(inventory[kind] ?? [])].sort().map((id) => ({ kind, id })));
}

/** Returns the key of an entry. */
export const keyOf = (entry: InventoryEntry): string => `${entry.kind} ${entry.id}`;

/** Entries that are looked up: each takes a call. */
export const MOST = 80;
const AT_ONCE = 4;

/** Reads something of each entry, a few at once, by their keys. */
export async function readEach<T>(entries: readonly InventoryEntry[], one: (entry: InventoryEntry, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Record<string, T>> {
  const found: Record<string, T> = {};
  const waiting = entries.slice(0, MOST);
  const work = async () => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) found[keyOf(entry)] = await one(entry, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** A version of a definition. */
interface StoredVersion {
  version: number;
  status: string;
  created_at: string;
  content_hash: string;
}

/** Returns the newest version that was there at an instant; a draft that is one still is of no package. */
export function versionAt<T extends StoredVersion>(versions: readonly T[], at: string): T | undefined {
  const known = versions.filter((version) => version.status !== "draft" && Date.parse(version.created_at) <= Date.parse(at));
  return known.sort((a, b) => b.version - a.version)[0];
}

/** The difference of an entry of two packages; `unknown` without versions. */
export type Difference = "added" | "removed" | "changed" | "same" | "unknown";

/** Compares an entry as two applies left it. */
export function compareEntry<T extends StoredVersion>(
  entry: InventoryEntry,
  versions: readonly T[] | null,
  before: Pick<PackageReceipt, "inventory" | "updated_at">,
  after: Pick<PackageReceipt, "inventory" | "updated_at">,
): { difference: Difference; old?: T | undefined; fresh?: T | undefined } {
  const has = (receipt: Pick<PackageReceipt, "inventory">) => receipt.inventory?.[entry.kind]?.includes(entry.id) === true;
  const [wasIn, isIn] = [has(before), has(after)];
  const [old, fresh] = [before, after].map((receipt) => (has(receipt) ? versionAt(versions ?? [], receipt.updated_at) : undefined));
  if (wasIn !== isIn) return { difference: isIn ? "added" : "removed", old, fresh };
  if (old === undefined && fresh === undefined) return { difference: "unknown" };
  if (old === undefined || fresh === undefined) return { difference: old === undefined ? "added" : "removed", old, fresh };
  return { difference: old.content_hash === fresh.content_hash ? "same" : "changed", old, fresh };
}

/** What is known of an entry on this service. */
export interface Here {
  /** Its id, if the inventory has its name. */
  id?: string;
  updatedAt: string;
  /** The version that serves; null for none, undefined for what has no versions. */
  serves?: number | null;
}

/** Returns what is known of a plugin by its versions. */
export function hereOfPlugin(versions: readonly Pick<Plugin, "version" | "status" | "updated_at">[]): Here {
  const changes = versions.map((version) => version.updated_at).sort();
  return { updatedAt: changes.at(-1) ?? "", serves: versions.find((version) => version.status === "active")?.version ?? null };
}

/** The state of an entry: `missing`, `same` as applied, `changed` since, or `unknown`. */
export function stateOf(here: Here | null | undefined, receipt: Pick<PackageReceipt, "updated_at">): "missing" | "same" | "changed" | "unknown" {
  if (here === undefined) return "unknown";
  if (here === null) return "missing";
  return Date.parse(here.updatedAt) > Date.parse(receipt.updated_at) ? "changed" : "same";
}

/** A package with its newest receipts. */
export interface PackageRow {
  name: string;
  applied: PackageReceipt | null;
  /** A version whose apply began after that of the applied one and has not ended. */
  staged: PackageReceipt | null;
  versions: number;
}

/** Returns the packages of receipts. */
export function listPackages(receipts: readonly PackageReceipt[]): PackageRow[] {
  const rows = new Map<string, PackageRow>();
  for (const receipt of receipts) {
    const row = rows.get(receipt.name) ?? { name: receipt.name, applied: null, staged: null, versions: 0 };
    row.versions++;
    const place = receipt.state === "applied" ? "applied" : "staged";
    const known = row[place];
    if (known === null || known.updated_at < receipt.updated_at) row[place] = receipt;
    rows.set(receipt.name, row);
  }
  for (const row of rows.values()) {
    if (row.staged !== null && row.applied !== null && row.staged.updated_at < row.applied.updated_at) row.staged = null;
  }
  return [...rows.values()].sort((a, b) => a.name.localeCompare(b.name));
}
