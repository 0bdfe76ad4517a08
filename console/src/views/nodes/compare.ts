// Nodes compared: what differs among those that live. Pure.

import type { Node } from "../../api/types.ts";
import type { NodeFigures } from "../../api/node-types.ts";

/** A node with the figures that it wrote; a service of an earlier version has none. */
export type NodeWithFigures = Node & { figures?: NodeFigures | null };

/** Seconds after which figures are too old: a node writes them every ten. */
const STALE_SECONDS = 30;

/** Returns whether figures are older than they should be. */
export const isStale = (figures: Pick<NodeFigures, "age_secs">): boolean => (figures.age_secs ?? 0) > STALE_SECONDS;

/** What differs among the nodes that live. */
export interface Differences {
  versions: readonly string[];
  /** The newest configuration that one of them serves. */
  newestEpoch: number;
  isBehind: boolean;
}

/** Returns what differs among the nodes that live. */
export function compareNodes(nodes: readonly Node[]): Differences {
  const live = nodes.filter((node) => node.status === "live");
  const newestEpoch = Math.max(0, ...live.map((node) => node.applied_epoch ?? 0));
  return {
    versions: [...new Set(live.map((node) => node.version))].sort(),
    newestEpoch,
    isBehind: live.some((node) => (node.applied_epoch ?? 0) < newestEpoch),
  };
}

const ORDER = ["live", "expired", "stopped"];

/** Returns the nodes: the one that answers first, then those that live, then the youngest. */
export function sortNodes<T extends Node>(nodes: readonly T[]): T[] {
  const rank = (node: Node) => (node.is_this ? -1 : ORDER.indexOf(node.status));
  return [...nodes].sort((a, b) => rank(a) - rank(b) || (a.started_at < b.started_at ? 1 : -1));
}
