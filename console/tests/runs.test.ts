import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health, Node, Trace, TraceSummary } from "../src/api/types.ts";
import { mergeSources, nextSource } from "../src/core/pages.ts";
import { sumUp } from "../src/ui/sparkline.tsx";
import { findConcerns } from "../src/views/now/attention.ts";
import { drawSeries, joinSeries } from "../src/views/now/traffic.tsx";
import { copiesOf } from "../src/views/run/copies.ts";
import { preciseTime, readTimeline } from "../src/views/run/steps.ts";
import { actionFilter, actionsOf } from "../src/views/runs/actions.ts";
import { traceRow } from "../src/views/runs/rows.ts";
import { listCommand, splitFilter } from "../src/views/runs/words.ts";

const rows = (...times: number[]) => times.map((at) => ({ key: `k${at}`, at }));

test("merged rows end at the newest end of a source with more", () => {
  const states = [{ rows: rows(9, 7, 5), next: "a" }, { rows: rows(8, 2), next: null }];
  assert.deepEqual(mergeSources(states).map((row) => row.at), [9, 8, 7, 5]);
  assert.equal(nextSource(states), 0);
  const ended = [{ rows: rows(9, 5), next: null }, { rows: rows(8, 2), next: null }];
  assert.deepEqual(mergeSources(ended).map((row) => row.at), [9, 8, 5, 2]);
  assert.equal(nextSource(ended), -1);
});

test("source with an empty page and more to read holds all rows back", () => {
  assert.deepEqual(mergeSources([{ rows: [], next: "a" }, { rows: rows(8), next: null }]), []);
});

test("statuses go to the sources that know them", () => {
  assert.deepEqual(splitFilter("all", { status: "skipped_misfire", channel: "a" }), {
    traces: null,
    occurrences: { channel: "a", status: "skipped_misfire" },
    deadLetters: null,
  });
  assert.equal(splitFilter("all", { status: "failed" }).occurrences, null);
  assert.equal(splitFilter("all", { mode: "sync" }).occurrences, null);
  assert.deepEqual(splitFilter("dead_letters", { status: "exhausted" }).deadLetters, { exhausted: "true" });
});

test("command of a list has the options of its own list", () => {
  assert.equal(listCommand("dead_letters", { status: "exhausted", channel: "a" }), "svc-cli dlq list --channel=a --exhausted=true");
  assert.equal(listCommand("dead_letters", { status: "exhausted,retrying" }), "svc-cli dlq list");
  assert.equal(listCommand("all", { status: "skipped_misfire" }), "svc-cli cron list --status=skipped_misfire");
  assert.equal(listCommand("all", {}), "svc-cli traces list");
});

const actionOf = (kind: Parameters<typeof actionsOf>[0], name: string) => {
  const found = actionsOf(kind).find((action) => action.action === name);
  assert.ok(found);
  return found;
};

test("action never meets more than the list shows", () => {
  const requeue = actionOf("all", "requeue");
  assert.deepEqual(actionFilter(requeue, "all", { channel: "a,b" }), { channel: ["a", "b"] });
  assert.deepEqual(actionFilter(requeue, "all", { status: "failed" }), { exhausted: "true" });
  assert.deepEqual(actionFilter(requeue, "all", { status: "failed,retrying" }), {});
  assert.equal(actionFilter(requeue, "all", { status: "completed" }), null);
  assert.equal(actionFilter(requeue, "all", { mode: "async" }), null);
  const retry = actionOf("all", "retry");
  assert.deepEqual(actionFilter(retry, "all", { status: "failed,completed" }), { status: ["failed"] });
  assert.equal(actionFilter(retry, "all", { status: "completed" }), null);
});

test("completed run with an error has a state of its own", () => {
  const trace = { id: "a", status: "completed", error_code: "X", created_at: "2026-11-29T00:00:00Z" } as TraceSummary;
  assert.equal(traceRow(trace).status, "tolerated");
});

test("timeline has times, differences and errors of each step", () => {
  const errors = [{ code: "IO_ERROR", message: "gone", task_id: "call" }, { code: "WORKFLOW_ERROR", message: "stopped" }];
  const trace = {
    id: "t", status: "failed", created_at: "2026-11-29T00:00:00Z", started_at: "2026-11-29T00:00:00.000100Z", duration_ms: 2, errors,
    task_trace_json: {
      steps: [
        { workflow_id: "w", task_id: "map", result: "executed", started_at: "2026-11-29T00:00:00.000600Z", duration_us: 250, message: { data: { a: 1 } } },
        { workflow_id: "w", task_id: "call", result: "failed", started_at: "2026-11-29T00:00:00.001100Z", duration_us: 900, loop_counter: 2, message: { data: { a: 1 } } },
      ],
    },
  } as unknown as Trace;
  const { steps, length, hasDetails } = readTimeline(trace);
  assert.deepEqual(steps.map((step) => step.name), ["map", "call [2]"]);
  assert.ok(Math.abs((steps[0]?.start ?? 0) - 0.5) < 0.001);
  assert.deepEqual([steps[0]?.before, steps[1]?.before], [{}, { data: { a: 1 } }]);
  assert.deepEqual(steps[1]?.errors.map((error) => error.code), ["IO_ERROR"]);
  assert.equal(length, 2);
  assert.ok(hasDetails);
  assert.equal(errors.length, 2);
});

test("instants keep their microseconds", () => {
  assert.ok(Math.abs(preciseTime("2026-11-29T00:00:00.000123456Z") - Date.parse("2026-11-29T00:00:00Z") - 0.123456) < 0.001);
});

test("copied requests quote the payload and name no key", () => {
  const trace = { id: "t", mode: "sync", channel: "o'rders", status: "completed", created_at: "2026-11-29T00:00:00Z" } as unknown as Trace;
  const timeline = { steps: [], length: 1, hasDetails: true, isTruncated: false, input: { payload: { name: "it's" } } };
  const call = copiesOf(trace, timeline, "http://x").find((copy) => copy.text.includes("/api/v1/data/"));
  assert.equal(call?.text, `curl -s -X POST -H 'content-type: application/json' -d '{"name":"it'\\''s"}' 'http://x/api/v1/data/o'\\''rders'`);
});

test("gravest concern comes first", () => {
  const health = {
    components: { engine_reload: "ok" },
    channels: { quarantined: [{ channel: "q", reason: "r" }], paused: [{ channel: "p", since: "", until: null, by: "x", reason: "y" }] },
    connectors: { circuit_breaker_scope: "node", circuit_breakers: { "c:k": "open", "c:l": "closed" }, failed_to_load: [] },
  } as unknown as Health;
  const nodes = [{ id: "a", status: "live", version: "1", applied_epoch: 4 }, { id: "b", status: "live", version: "2", applied_epoch: 3 }] as Node[];
  const names = findConcerns(health, nodes, null).map((concern) => `${concern.state} ${concern.name}`);
  assert.deepEqual(names, ["quarantined q", "open k", "degraded Nodes", "degraded b", "paused p"]);
  assert.deepEqual(findConcerns(undefined, undefined, null), []);
});

test("every component that is not well is a concern", () => {
  const health = {
    components: { engine: "degraded", engine_reload: "ok", webhooks: "degraded", cron: "degraded", actors: "degraded" },
    connectors: { circuit_breaker_scope: "node", circuit_breakers: { "shop:eu:crm": "open" }, failed_to_load: [] },
    actors: { nodes: [{ path: "cron", state: "restarting" }, { path: "bulk", state: "running", busy_ms: 5000 }, { path: "store", state: "running" }] },
  } as unknown as Health;
  const names = findConcerns(health, [], null).map((concern) => `${concern.state} ${concern.name}`);
  assert.deepEqual(names, ["open shop:eu:crm", "degraded cron", "degraded bulk", "degraded Engine", "degraded Webhooks", "degraded Schedules"]);
});

test("sums keep the newest values at the end", () => {
  assert.deepEqual(sumUp([1, 2, 3, 4, 5], 2), [3, 12]);
  assert.deepEqual(sumUp([1, 2], 30), [1, 2]);
});

const seriesOf = (...times: number[]) => ({ times, requests: times, errors: times.map(() => 0), p99_ms: times.map(() => null) });

test("seconds since the last minute follow the minutes", () => {
  assert.deepEqual(joinSeries(seriesOf(60, 120), seriesOf(119, 120, 121)).times, [60, 120, 121]);
  assert.deepEqual(joinSeries(seriesOf(), seriesOf(5)).times, [5]);
  assert.deepEqual(joinSeries(seriesOf(60), seriesOf(60)).times, [60]);
});

test("line is broken where no point was taken", () => {
  const drawn = drawSeries(seriesOf(1, 2, 50), 2, 1);
  assert.deepEqual(drawn.times, [2, 3, 50]);
  assert.deepEqual(drawn.requests, [2, null, 50]);
});
