import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, type Definition, findContents, instantOfId, placeOf, readHashes, readOrigin } from "../src/views/audit/entry.ts";

test("origin of an entry is read from its details", () => {
  const details = JSON.stringify({ request_id: "r", client_ip: "::1", change_context: { ticket: 7 } });
  assert.deepEqual(readOrigin({ details }), { requestId: "r", clientIp: "::1", userAgent: null, context: { ticket: 7 } });
  for (const none of [null, "no JSON", "[]", "3"]) assert.equal(readOrigin({ details: none }).requestId, null);
});

test("contents before and after are found by their hash", () => {
  const known = [
    { content_hash: "a", version: 1, tasks: [1] },
    { content_hash: "b", version: 2, tasks: [1, 2], updated_at: "x" },
  ] as Definition[];
  assert.deepEqual(findContents({ before: "a", after: "b" }, known), { before: { tasks: [1] }, after: { tasks: [1, 2] } });
  assert.deepEqual(findContents({ before: null, after: "gone" }, known), { before: null, after: undefined });
  assert.deepEqual(contentOf(known[1] as Definition), { tasks: [1, 2] });
  assert.deepEqual(readHashes({ change: { content_hash: { before: null, after: "b" } } }), { before: null, after: "b" });
  assert.equal(readHashes({ change: null }), null);
});

test("instant is in the id of an entry", () => {
  assert.equal(instantOfId("01a22844-cac7-7572-b808-5ea4e05fc352"), 0x01a22844cac7);
  assert.equal(instantOfId("6050130a-de9d-43fc-beea-9b821d23d426"), null);
});

test("entries lead to the view of their resource", () => {
  assert.deepEqual(placeOf({ resource_type: "package", resource_id: "orders@1.0.0" }), { path: "/packages/orders" });
  assert.deepEqual(placeOf({ resource_type: "actor", resource_id: "a/b" }), { path: "/actors", query: { actor: "a/b" } });
  assert.equal(placeOf({ resource_type: "channel", resource_id: "a/b" })?.path, "/channels/a%2Fb");
  assert.equal(placeOf({ resource_type: "engine", resource_id: "engine" }), null);
});
