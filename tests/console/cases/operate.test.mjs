// The acts of an operator on versions, actors, breakers, partitions and refused requests, each with its audit row.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAuditRow, followAuditRow } from "../kit/acts.mjs";
import { settle } from "../kit/browser.mjs";
import { findViolations } from "../kit/checks.mjs";
import { pluginOf, serve } from "../kit/seed.mjs";
import { eventually } from "../kit/wait.mjs";
import { useWorld } from "../kit/world.mjs";

const ADMIN = "/api/v1/admin";
const world = useWorld({ toml: ["[engine.circuit_breaker]", "enabled = true", "failure_threshold = 2", "recovery_timeout_secs = 600"] });

const confirmIn = (page, name) => page.getByRole("dialog").getByRole("button", { name, exact: true });
const task = (name, input) => ({ id: "one", name: "one", function: { name, input } });
const takePayload = task("parse_json", { source: "payload", target: "input" });

/** Returns the versions of a workflow that serve, each with its share. */
async function sharesOf(id) {
  const { data } = await world.server.get(`${ADMIN}/workflows/${id}/versions`);
  return data.filter(({ status }) => status === "active").map(({ version, rollout_percentage: share }) => [version, share]);
}

test("canary is given another share and withdrawn", async () => {
  await serve(world.server, "shares", [takePayload]);
  await world.server.ask("POST", `${ADMIN}/workflows/shares/versions`, {});
  await world.server.ask("PATCH", `${ADMIN}/workflows/shares/status`, { status: "active", rollout_percentage: 10 });
  const { page, watch, close } = await world.open({ path: "/workflows/shares" });
  const set = page.locator("#main").getByRole("button", { name: /^Give v2/ });
  await set.waitFor();
  assert.equal(await set.getAttribute("title"), "This is its share now.");
  await page.getByRole("spinbutton", { name: "Share of v2 in percent" }).fill("25");
  await set.click();
  await page.getByRole("dialog").getByText("v2 takes 25 % of the messages, v1 the rest.").waitFor();
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Give v2 25 %").click();
  await expectAuditRow(world, page, "v2 has 25 %.", "update_rollout");
  assert.deepEqual((await sharesOf("shares")).find(([version]) => version === 2), [2, 25]);
  await page.locator("#main").getByRole("button", { name: "Withdraw v2" }).click();
  await confirmIn(page, "Withdraw v2").click();
  await expectAuditRow(world, page, "v2 is withdrawn.", "update_rollout");
  assert.deepEqual((await sharesOf("shares")).map(([version]) => version), [1]);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("plugin is activated, archived and deleted", async () => {
  await world.server.ask("POST", `${ADMIN}/plugins`, pluginOf("fees"));
  const { page, watch, close } = await world.open({ path: "/" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("fees");
  await page.getByRole("option", { name: "fees" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname.endsWith("/plugins/fees"));
  await page.getByText("No version serves yet: this is a draft.").waitFor();
  await page.locator("#main").getByText("net: number, rate?: number").waitFor();
  const archive = page.locator("#main").getByRole("button", { name: "Archive", exact: true });
  assert.equal(await archive.getAttribute("title"), "No version serves.");
  await page.getByRole("button", { name: "Activate v1" }).click();
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Activate v1").click();
  await expectAuditRow(world, page, "v1 is active.", "status_active");
  // The component has no functions: the view follows the load, and says why.
  await page.getByText(/^This node cannot use it: /).waitFor();
  await page.getByRole("button", { name: "More" }).click();
  assert.equal(await page.getByRole("menuitem", { name: "Delete" }).getAttribute("title"), "Archive it first.");
  await page.keyboard.press("Escape");
  await archive.click();
  await confirmIn(page, "Archive").click();
  await expectAuditRow(world, page, "The plugin is archived.", "status_archived");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await confirmIn(page, "Delete").click();
  await page.waitForURL((url) => url.pathname.endsWith("/plugins"));
  await expectAuditRow(world, page, "fees is deleted.", "delete");
  assert.equal((await world.server.send("GET", `${ADMIN}/plugins/fees`)).status, 404);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("edited workflow is saved and activated", async () => {
  await serve(world.server, "edited", [takePayload]);
  const { page, watch, close } = await world.open({ path: "/edit/workflow/edited" });
  const activate = page.getByRole("button", { name: "Activate", exact: true });
  assert.equal(await activate.getAttribute("title"), "There is no draft: edit and save first.");
  const source = page.locator(".cm-content").first();
  await source.waitFor();
  const { data } = await world.server.get(`${ADMIN}/workflows/edited`);
  const document = { workflow_id: "edited", name: "edited", description: "written in the console", tasks: data.tasks };
  await source.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(JSON.stringify(document, null, 2));
  await eventually("the draft is to be saved first", async () => (await activate.getAttribute("title")) === "Save the draft first.");
  await page.getByRole("button", { name: "Save as draft" }).click();
  await page.getByRole("log").getByText("Draft v2 is saved.").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((button) => button.textContent.startsWith("Activate") && button.ariaDisabled !== "true"));
  await activate.click();
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Activate v2").click();
  await expectAuditRow(world, page, "v2 serves.", "status_active");
  await page.waitForURL((url) => url.pathname.endsWith("/workflows/edited"));
  const active = (await world.server.get(`${ADMIN}/workflows/edited`)).data;
  assert.deepEqual([active.version, active.status, active.description], [2, "active", "written in the console"]);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("actor is restarted", async () => {
  const generation = async () => (await world.server.get(`${ADMIN}/actors`)).data.nodes.find(({ path }) => path === "keysets").generation;
  const before = await generation();
  const { page, watch, close } = await world.open({ path: "/actors?actor=keysets" });
  await page.locator("#main").getByRole("button", { name: "Restart", exact: true }).click();
  await page.getByRole("dialog", { name: "Restart: keysets" }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Restart").click();
  const row = await expectAuditRow(world, page, "keysets was restarted.", "restart");
  await eventually("a new instance runs", async () => (await generation()) > before);
  await followAuditRow(page, row);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("open breaker is reset", async () => {
  const config = { url: world.upstream.url, allow_private_urls: true, retry: { max_retries: 0 } };
  await world.server.ask("POST", `${ADMIN}/connectors`, { id: "flaky", name: "flaky", connector_type: "http", config });
  await serve(world.server, "flaky", [task("http_call", { connector: "flaky", path: "/fails" })]);
  const states = async () => Object.entries((await world.server.get(`${ADMIN}/connectors/circuit-breakers`)).data.breakers);
  await eventually("the breaker is open", async () => {
    await world.server.send("POST", "/api/v1/data/flaky", {});
    return (await states()).some(([key, state]) => key.includes("flaky") && state === "open");
  });
  const { page, watch, close } = await world.open({ path: "/connectors/flaky" });
  await page.locator("#main").getByRole("button", { name: "Reset", exact: true }).click();
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Reset").click();
  await expectAuditRow(world, page, "The breaker is closed.", "reset");
  await page.locator(".connectors-breakers").getByText("closed").waitFor();
  assert.ok((await states()).every(([key, state]) => !key.includes("flaky") || state === "closed"));
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("refused request is tried and then admitted", async () => {
  const config = { auth: { mode: "hmac", preset: "github", secret: "s3cret-of-the-sender" } };
  await serve(world.server, "signed", [takePayload], { config });
  assert.equal((await world.server.send("POST", "/api/v1/data/signed", {})).status, 401);
  const { page, watch, close } = await world.open({ path: "/refusals?channel=signed" });
  const attempt = page.getByRole("button", { name: "Try", exact: true });
  await attempt.click();
  const verdict = page.locator("#main [role=status]").filter({ hasText: "would answer 401." });
  await verdict.waitFor();
  const reason = () => verdict.locator("code").first().innerText();
  const unsigned = await reason();
  await expectAuditRow(world, page, "The request was tried.", "test");
  assert.deepEqual(await findViolations(page), []);
  await page.getByLabel("Sign", { exact: true }).selectOption("github");
  await page.getByLabel("Secret", { exact: true }).fill("another-secret");
  await attempt.click();
  await eventually("a wrong signature has a reason of its own", async () => (await reason()) !== unsigned);
  await page.getByLabel("Secret", { exact: true }).fill("s3cret-of-the-sender");
  await attempt.click();
  await page.getByText("The request would be admitted.").waitFor();
  assert.equal(await verdict.count(), 0);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("record that is held back is skipped", async () => {
  const { page, watch, close } = await world.open({ path: null });
  // There is no broker here: the partition and the answer to its skip are made, as the service makes them.
  const held = {
    topic: "orders <b>", partition: 3, channel: "broken", consumer_group: "svc", state: "retrying", offset: 41, committed_offset: 41, lag: 9,
    waiting_records: 5, waiting_bytes: 900, fetch_paused: false, attempts: 4, retry_since: new Date().toISOString(), last_error: "no stock",
  };
  let rows = [held];
  const skips = [];
  const answer = (route, data) => route.fulfill({ json: { data, meta: { request_id: "r" } } });
  await page.route("**/api/v1/admin/kafka/partitions", (route) => answer(route, rows));
  await page.route("**/api/v1/admin/kafka/partitions/*/*/skip*", (route) => {
    skips.push(new URL(route.request().url()));
    rows = [{ ...held, state: "running", offset: 43, retry_since: null, last_error: null, attempts: 0 }];
    return answer(route, { skipped: 2 });
  });
  await page.goto(`${world.site.origin}${world.site.base}/kafka?partition=${encodeURIComponent("orders <b> 3")}`);
  await settle(page);
  const skip = page.locator("#main").getByRole("button", { name: "Skip", exact: true });
  await skip.click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/Gives up the record at offset 41 of orders <b> 3/).waitFor();
  await dialog.getByRole("spinbutton").fill("43");
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Skip").click();
  await eventually("the record is skipped", () => skips.length === 1);
  const [{ pathname, searchParams }] = skips;
  assert.ok(pathname.endsWith(`/${encodeURIComponent("orders <b>")}/3/skip`), pathname);
  assert.deepEqual([searchParams.get("offset"), searchParams.get("until_offset")], ["41", "43"]);
  const node = (await world.server.get(`${ADMIN}/nodes`)).data.find((one) => one.is_this).id;
  if (world.isLive) assert.equal(searchParams.get("node"), node, "the order goes to the node that was looked at");
  await page.waitForFunction(() => [...document.querySelectorAll("#main button")].some((button) => button.title === "No record is held back."));
  assert.deepEqual(await watch.faults(), []);
  await close();
});
