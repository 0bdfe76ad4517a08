import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOfFinding } from "../src/views/now/findings.ts";

test("finding has the place that an editor opens", () => {
  assert.equal(placeOfFinding({ entity: "orders", file: "workflows/orders.yaml", line: 3, column: 5 }), "workflows/orders.yaml:3:5");
  assert.equal(placeOfFinding({ entity: "orders", file: "workflows/orders.yaml", line: 3 }), "workflows/orders.yaml:3");
  assert.equal(placeOfFinding({ entity: "orders", file: "workflows/orders.yaml" }), "workflows/orders.yaml");
  assert.equal(placeOfFinding({ entity: "channel orders" }), "channel orders");
});
