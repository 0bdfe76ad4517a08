// Partitions: those that need a look first, and their sums. Pure.

import type { KafkaPartition } from "../../api/types.ts";

/** Returns the name of a partition. */
export const nameOf = (row: Pick<KafkaPartition, "topic" | "partition">): string => `${row.topic} ${row.partition}`;

/** Returns whether a partition holds a record back. */
export const isHeld = (row: Pick<KafkaPartition, "state" | "retry_since">): boolean => row.retry_since !== null || row.state === "blocked";

/** Returns the partitions: those that hold a record back first, then those that are the most behind. */
export function sortPartitions(rows: readonly KafkaPartition[]): KafkaPartition[] {
  return [...rows].sort(
    (a, b) =>
      Number(isHeld(b)) - Number(isHeld(a)) || (b.lag ?? 0) - (a.lag ?? 0) || a.topic.localeCompare(b.topic) || a.partition - b.partition,
  );
}

/** Sums over partitions. */
export interface PartitionSums {
  partitions: number;
  lag: number;
  waiting: number;
  held: number;
}

/** Returns the sums over partitions. */
export function sumPartitions(rows: readonly KafkaPartition[]): PartitionSums {
  const sums = { partitions: rows.length, lag: 0, waiting: 0, held: 0 };
  for (const row of rows) {
    sums.lag += row.lag ?? 0;
    sums.waiting += row.waiting_records;
    if (isHeld(row)) sums.held++;
  }
  return sums;
}
