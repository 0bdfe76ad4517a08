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

test("list that cannot be read does not pass for an empty one", async () => {
  const { page, close } = await world.open({ path: "/api" });
  const error = { code: "SERVICE_UNAVAILABLE", message: "the service is draining" };
  await page.route("**/api/v1/admin/**", (route) => route.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ error }) }));
  const views = page.getByRole("navigation", { name: "Views" });
  for (const name of ["Runs", "Channels", "Workflows", "Plugins", "Connectors", "Kafka", "Refusals", "Audit", "Packages"]) {
    await views.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
    await page.getByRole("alert").filter({ hasText: error.message }).first().waitFor();
    assert.equal(await page.locator("#main .empty").count(), 0, name);
  }
  await close();
});

test("thousands of concerns leave the page quick and are counted", async () => {
  const { page, watch, close } = await world.open({ path: "/api" });
  await page.route("**/health", async (route) => {
    const answer = await route.fetch();
    const health = await answer.json();
    const quarantined = Array.from({ length: 3000 }, (_, n) => ({ channel: `lost-${n}`, reason: "the variable is not set" }));
    await route.fulfill({ json: { ...health, status: "degraded", channels: { quarantined, paused: [] } } });
  });
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Now", exact: true }).click();
  await page.getByText("lost-0", { exact: true }).waitFor();
  await page.getByText(/^And 2,9\d\d more:/).waitFor();
  assert.ok((await page.getByText(/^lost-\d+$/).count()) <= 50);
  assert.deepEqual(await findViolations(page), []);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("refusals of the last of many channels are found by its name", async () => {
  const { page, watch, close } = await world.open({ path: "/api" });
  const channels = Array.from({ length: 1500 }, (_, n) => ({
    channel_id: `c-${n}`, name: `many-${String(n).padStart(4, "0")}`, protocol: "rest", methods: ["POST"], status: "active", version: 1, config: {}, tags: [], transport_config: {},
  }));
  await page.route("**/api/v1/admin/channels?*", (route) => {
    const words = new URL(route.request().url()).searchParams;
    const [offset, limit] = [Number(words.get("offset") ?? 0), Number(words.get("limit"))];
    return route.fulfill({ json: { data: channels.slice(offset, offset + limit), total: channels.length, limit, offset } });
  });
  await page.route("**/api/v1/admin/channels/*/stats", (route) => {
    const id = new URL(route.request().url()).pathname.split("/").at(-2);
    const refusals = [{ guard: "auth", status: 401, reason: "missing", count: 7, last_seen: "2026-11-30T00:00:00Z", explanation: "It is missing." }];
    return route.fulfill({ json: { data: { channel_id: id, channel: id, node: "n", served: true, version: 1, quarantined: null, guards: [], free_permits: null, since: null, refusals } } });
  });
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Refusals", exact: true }).click();
  await page.getByText("1,300 more are found by their name.").waitFor();
  await page.getByRole("searchbox", { name: "Name of a channel" }).fill("many-1499");
  await page.locator("tr[data-row]").filter({ hasText: "many-1499" }).getByText("7", { exact: true }).waitFor();
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("long list keeps its names on a narrow page", async () => {
  // More rows than a table draws whole.
  await Promise.all(Array.from({ length: 60 }, () => world.server.ask("POST", "/api/v1/data/hostile", { text: "a" })));
  const { page, watch, close } = await world.open({ path: "/runs?kind=traces", size: "narrow" });
  await page.locator("tr.spacer").first().waitFor({ state: "attached" });
  const name = await page.locator("tr[data-row] td:not(.pick)").first().boundingBox();
  assert.ok(name.width > 100, `the name has ${name.width} px`);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("dependents lead to a connector whose name is not its id", async () => {
  const { page, watch, close } = await world.open({ path: "/workflows/hostile?tab=dependents" });
  await page.getByRole("link", { name: /^crm .*Connector$/s }).click();
  await page.waitForURL(/\/connectors\/crm$/);
  await page.getByRole("link", { name: /Workflow$/ }).first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  assert.deepEqual(await watch.faults(), []);
  await close();
});
