// Ways of an operator that once ended before their aim: a paused schedule, an actor without a name, a restart by nobody.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAuditRow } from "../kit/acts.mjs";
import { findViolations } from "../kit/checks.mjs";
import { useWorld } from "../kit/world.mjs";

const ADMIN = "/api/v1/admin";
const world = useWorld();

test("paused schedule says why and is resumed", async () => {
  await world.server.ask("POST", `${ADMIN}/channels/nightly/pause`, { reason: "the bank is down" });
  const { page, watch, close } = await world.open({ path: "/schedules?schedule=nightly" });
  await page.getByText("Paused: the bank is down").first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await expectAuditRow(world, page, "is resumed.", "resume");
  await page.getByText("Paused: the bank is down").first().waitFor({ state: "detached" });
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("restart of an actor names its person", async () => {
  const { data } = await world.server.get(`${ADMIN}/actors`);
  const { path, connector } = data.nodes.find((node) => node.connector !== undefined);
  await world.server.ask("POST", `${ADMIN}/actors/${encodeURIComponent(path)}/restart`);
  const { page, watch, close } = await world.open({ path: `/actors?actor=${encodeURIComponent(path)}` });
  await page.getByRole("heading", { name: connector.slice(0, 4) }).first().waitFor();
  await page.getByRole("link", { name: "by ada" }).first().click();
  await page.waitForURL(/\/audit\?entry=/);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("dead letters that need attention open with their filter", async () => {
  const { page, watch, close } = await world.open({ path: "/" });
  await page.locator('a[href*="status=exhausted"]').first().click();
  await page.waitForURL(/status=exhausted/);
  assert.deepEqual(await watch.faults(), []);
  await close();
});
