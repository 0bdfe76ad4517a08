// The graph of a workflow: the version that a person came from, and how often its tasks ran.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "../kit/checks.mjs";
import { comeTo, submit } from "../kit/seed.mjs";
import { useWorld } from "../kit/world.mjs";

const ADMIN = "/api/v1/admin";
const world = useWorld();

/** Gives a new version of a workflow a share of the traffic. */
async function startCanary(id) {
  await world.server.ask("POST", `${ADMIN}/workflows/${id}/versions`, {});
  await world.server.ask("PATCH", `${ADMIN}/workflows/${id}/status`, { status: "active", rollout_percentage: 10 });
}

test("run opens the graph of its version with counts of its tasks", async () => {
  const id = await submit(world.server, "hostile", { n: 1 });
  await comeTo(world.server, id, "completed");
  const { page, watch, close } = await world.open({ path: `/runs/${id}` });
  await page.getByRole("link", { name: "hostile v1" }).click();
  await page.getByRole("button", { name: /\d+ runs?/ }).first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get("version"), "1");
  assert.deepEqual(await findViolations(page), []);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("canary opens at its own version", async () => {
  await startCanary("quiet");
  const { page, watch, close } = await world.open({ path: "/workflows?q=quiet" });
  await page.getByRole("link", { name: /v2 has 10 %/ }).click();
  await page.getByText("Source of v2").waitFor();
  await page.getByRole("link", { name: "v1", exact: true }).click();
  await page.getByText("Source of v1").waitFor();
  assert.deepEqual(await watch.faults(), []);
  await close();
});
