import assert from "node:assert/strict";
import test from "node:test";

import { functions } from "./plugin.js";

test("words are joined by dashes", () => {
  assert.equal(functions.invoke("slug", '{"text": " Hello, World! "}'), '"hello-world"');
  assert.equal(functions.invoke("slug", '{"text": "Hello World", "max_length": 6}'), '"hello"');
});

test("a text without words is refused", () => {
  assert.throws(() => functions.invoke("slug", '{"text": "!"}'), { code: "EMPTY_SLUG", class: "input" });
});
