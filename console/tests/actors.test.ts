import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveActor } from "../src/api/live-types.ts";
import type { ActorEvent, ActorNode } from "../src/api/types.ts";
import { labelOf, listEvents, listRows, orderOf, sayExit } from "../src/views/actors/tree.ts";

const node = (path: string, more: Partial<ActorNode> = {}) => ({ path, state: "running", restarts: 0, mailbox_depth: 0, mailbox_bound: 8, quarantine_reason: null, ...more }) as ActorNode;
const VIEW = { search: "", onlyTrouble: false, turned: new Set<string>() };

test("tree has groups above their actors", () => {
  const rows = listRows([node("b"), node("a/x/0"), node("a"), node("a/x")], new Map(), VIEW);
  assert.deepEqual(rows.map((row) => `${row.depth} ${row.name}`), ["0 a", "1 x", "0 b"]);
  const open = listRows([node("a"), node("a/x"), node("a/x/0")], new Map(), { ...VIEW, turned: new Set(["a/x"]) });
  assert.deepEqual(open.map((row) => `${row.depth} ${row.name}`), ["0 a", "1 x", "2 0"]);
  const folded = listRows([node("a"), node("a/x")], new Map(), { ...VIEW, turned: new Set(["a"]) });
  assert.deepEqual(folded.map((row) => row.path), ["a"]);
});

test("large groups are folded but for trouble", () => {
  const many = Array.from({ length: 40 }, (_, index) => node(`channels/${index}`));
  const live = new Map([["channels/7", { path: "channels/7", state: "quarantined", generation: 1, restarts: 5, mailbox_depth: 1, mailbox_bound: 8, reason: "x" } as LiveActor]]);
  const rows = listRows([node("channels"), ...many], live, VIEW);
  assert.deepEqual(rows.map((row) => `${row.path} ${row.state}`), ["channels running", "channels/7 quarantined"]);
  assert.deepEqual([rows[0]?.below, rows[1]?.reason], [40, "x"]);
  const found = listRows(many, live, { ...VIEW, onlyTrouble: true });
  assert.deepEqual(found.map((row) => row.path), ["channels/7"]);
});

test("actors with ends come first on the timeline", () => {
  const event = (path: string, name: string, seq: number) => ({ path, event: name, seq, at: "2026-11-29T16:00:00Z", generation: 1 }) as ActorEvent;
  const history = [event("calm", "started", 1), event("a", "exited", 2), event("b", "exited", 3), event("b", "exited", 4)];
  assert.deepEqual(listEvents(history, "").map((line) => `${line.path} ${line.exits}`), ["b 2", "a 1"]);
  assert.deepEqual(listEvents(history, "calm").map((line) => line.path), ["calm"]);
});

test("ends of instances are sentences", () => {
  assert.equal(sayExit({ exit: "panicked", message: "m", location: "a.rs:1", handling: "Run" }), "panicked at a.rs:1 while handling Run: m");
  assert.equal(sayExit({ exit: "failed", reason: "r" }), "failed: r");
  assert.equal(sayExit({ exit: "ordered" }), "ordered");
  assert.equal(sayExit(undefined), "");
});

test("actors of connectors have the name of the connector", () => {
  const id = "connectors/0198-id";
  const rows = listRows([node("connectors"), node(id, { connector: "crm/eu" }), node(`${id}/pool`, { connector: "crm/eu" })], new Map(), { ...VIEW, turned: new Set([id]) });
  assert.deepEqual(rows.map((row) => row.name), ["connectors", "crm/eu", "pool"]);
  const found = listRows([node(id, { connector: "crm/eu" })], new Map(), { ...VIEW, search: "CRM" });
  assert.deepEqual(found.map((row) => [row.path, row.name]), [[id, "connectors/crm/eu"]]);
  assert.equal(labelOf("connectors/id~2", "crm"), "connectors/crm~2");
  assert.equal(labelOf("channels/id", undefined), "channels/id");
});

test("ordered end belongs to the last order before it", () => {
  const event = (path: string, exit: string) => ({ path, event: "exited", seq: 1, at: "2026-11-29T16:00:10Z", generation: 1, exit: { exit } }) as unknown as ActorEvent;
  const order = (id: string, path: string, second: number) => ({ id, principal: id, resource_id: path, created_at: `2026-11-29T16:00:${String(second).padStart(2, "0")}Z` });
  const orders = [order("ada", "channels", 2), order("bob", "channels/a", 9), order("eve", "channels/b", 9), order("late", "channels/a", 30)];
  assert.equal(orderOf(event("channels/a", "ordered"), orders)?.id, "bob");
  assert.equal(orderOf(event("channels/c", "ordered"), orders)?.id, "ada");
  assert.equal(orderOf(event("channels/a", "panicked"), orders), undefined);
  assert.equal(orderOf(event("cron/a", "ordered"), orders), undefined);
});
