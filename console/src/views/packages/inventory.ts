// The inventory of a package, compared with another version of it and with what is here. Pure.

import type { PackageReceipt } from "../../api/types.ts";

/** The kinds of entries. */
export const KINDS = ["channels", "workflows", "connectors"] as const;

/** An entry of an inventory. */
export interface InventoryEntry {
  kind: (typeof KINDS)[number];
  id: string;
}

/** Returns the entries of a receipt, by kind and id. */
export function listEntries(receipt: Pick<PackageReceipt, "inventory"> | null | undefined): InventoryEntry[] {
  const inventory = receipt?.inventory;
  if (inventory === undefined || inventory === null) return [];
  return KINDS.flatMap((kind) => [...inventory[kind]].sort().map((id) => ({ kind, id })));
}

/** What is known of an entry on this service. */
export interface Here {
  updatedAt: string;
  /** The version that serves; null for none, undefined for what has no versions. */
  serves?: number | null;
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
