import assert from "node:assert/strict";
import { test } from "node:test";
import type { KafkaPartition, Node } from "../src/api/types.ts";
import { isHeld, sortPartitions, sumPartitions } from "../src/views/kafka/partitions.ts";
import { compareNodes, isStale, sortNodes } from "../src/views/nodes/compare.ts";

const partition = (number: number, more: Partial<KafkaPartition>) =>
  ({ topic: "orders", partition: number, lag: 0, waiting_records: 1, retry_since: null, state: "running", ...more }) as KafkaPartition;

test("held partitions come first", () => {
  const rows = [partition(0, { lag: 9 }), partition(1, { lag: null }), partition(2, { retry_since: "2026-01-01T00:00:00Z" }), partition(3, { state: "blocked", lag: 4 })];
  assert.deepEqual(sortPartitions(rows).map((row) => row.partition), [3, 2, 0, 1]);
  assert.deepEqual(sumPartitions(rows), { partitions: 4, lag: 13, waiting: 4, held: 2 });
  assert.ok(!isHeld(partition(0, {})));
});

const node = (id: string, more: Partial<Node>) => ({ id, status: "live", version: "1", applied_epoch: 4, is_this: false, started_at: id, ...more }) as Node;

test("nodes that live are compared", () => {
  const nodes = [node("a", { version: "2" }), node("b", { applied_epoch: 3 }), node("c", { status: "stopped", version: "0", applied_epoch: 9 })];
  assert.deepEqual(compareNodes(nodes), { versions: ["1", "2"], newestEpoch: 4, isBehind: true });
  assert.deepEqual(compareNodes([]), { versions: [], newestEpoch: 0, isBehind: false });
});

test("node that answers comes first", () => {
  const nodes = [node("a", { status: "stopped" }), node("b", {}), node("c", {}), node("d", { status: "expired" }), node("e", { is_this: true })];
  assert.deepEqual(sortNodes(nodes).map((row) => row.id), ["e", "c", "b", "d", "a"]);
});

test("figures are stale after three periods", () => {
  assert.ok(isStale({ age_secs: 31 }));
  assert.ok(!isStale({ age_secs: 12 }));
});
