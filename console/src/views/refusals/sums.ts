// Sums of the refusals of a channel.

import type { RefusalCount } from "../../api/node-types.ts";

/** The statuses that have a column. */
export const STATUSES = [401, 403, 409, 429] as const;

/** The refusals of a channel by status. */
export interface RefusalSums {
  byStatus: Readonly<Record<number, number>>;
  /** Refusals with another status. */
  others: number;
  total: number;
  /** The time of the last one. */
  last: string | null;
}

/** Returns the refusals by status. */
export function sumRefusals(refusals: readonly RefusalCount[]): RefusalSums {
  const byStatus: Record<number, number> = {};
  let [others, total] = [0, 0];
  let last: string | null = null;
  for (const { status, count, last_seen: seen } of refusals) {
    total += count;
    if ((STATUSES as readonly number[]).includes(status)) byStatus[status] = (byStatus[status] ?? 0) + count;
    else others += count;
    if (last === null || seen > last) last = seen;
  }
  return { byStatus, others, total, last };
}
