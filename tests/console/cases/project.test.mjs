// The project that a server of `dev` watches: a save that serves, one that does not, and a service without a project.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findOverflow, findViolations } from "../kit/checks.mjs";
import { SIZES } from "../kit/browser.mjs";
import { useWorld } from "../kit/world.mjs";

const WORKFLOW = "workflows/greet.json";
const workflow = (name) => ({
  workflow_id: "greet", name: "greet", tasks: [{ id: "take", name: "take", function: { name, input: { source: "payload", target: "input" } } }],
});

const world = useWorld({ isFilled: false, project: { [WORKFLOW]: workflow("parse_json") } });

test("watched project shows its findings until they are mended", async () => {
  const { page, watch, close } = await world.open({ key: null, path: "/" });
  const main = page.locator("#main");
  await main.getByText("The last save serves.").waitFor();
  world.server.save(WORKFLOW, workflow("parse_jsn"));
  await main.getByText("The last save does not serve.").waitFor();
  await main.getByText(/^workflows\/greet\.json:\d+:\d+$/).first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.setViewportSize(SIZES.narrow);
  assert.deepEqual(await findOverflow(page), []);
  world.server.save(WORKFLOW, workflow("parse_json"));
  await main.getByText("The last save serves.").waitFor();
  assert.equal(await main.getByText(/greet\.json/).count(), 0);
  assert.deepEqual(await watch.faults(), []);
  await close();
});
