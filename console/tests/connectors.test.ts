import assert from "node:assert/strict";
import { test } from "node:test";
import { endsSoon, gravestState, readBreakers } from "../src/views/connectors/breakers.ts";

test("breakers are divided at the name of their connector", () => {
  const breakers = readBreakers({ "orders:crm": "open", "a:b:c:d": "closed" }, ["d", "c:d", "crm"]);
  assert.deepEqual(breakers.map(({ channel, connector }) => [channel, connector]), [["orders", "crm"], ["a:b", "c:d"]]);
  assert.deepEqual(readBreakers({ "x:gone": "open" }, []).map((breaker) => breaker.connector), ["gone"]);
});

test("gravest state of breakers is shown", () => {
  assert.equal(gravestState([{ state: "closed" }, { state: "half_open" }]), "half_open");
  assert.equal(gravestState([]), null);
});

test("tokens that end within a minute are marked", () => {
  assert.ok(endsSoon("2026-01-01T00:00:30Z", Date.parse("2026-01-01T00:00:00Z")));
  assert.ok(!endsSoon("2026-01-01T00:05:00Z", Date.parse("2026-01-01T00:00:00Z")));
});
