// The acts on runs: each shows its audit row, those on many a preview first.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAuditRow, followAuditRow } from "../kit/acts.mjs";
import { settle } from "../kit/browser.mjs";
import { findOverflow, findViolations } from "../kit/checks.mjs";
import { comeTo, makeLetters, submit } from "../kit/seed.mjs";
import { eventually } from "../kit/wait.mjs";
import { useWorld } from "../kit/world.mjs";

const ADMIN = "/api/v1/admin";
const world = useWorld();

const confirmIn = (page, name) => page.getByRole("dialog").getByRole("button", { name });

test("dead letter is requeued", async () => {
  const [id] = await makeLetters(world.server, "broken", 1);
  await comeTo(world.server, id, "failed");
  const { page, watch, close } = await world.open({ path: `/runs/${id}` });
  await page.getByRole("button", { name: "Requeue" }).click();
  const row = await expectAuditRow(world, page, "The dead letter is due at once.", "requeue");
  await followAuditRow(page, row);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("run with a dead letter is not run again", async () => {
  const [id] = await makeLetters(world.server, "broken", 1);
  await comeTo(world.server, id, "failed");
  const { page, close } = await world.open({ path: `/runs/${id}` });
  await page.getByRole("button", { name: "Requeue" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Run again" }).getAttribute("title"), "It has a dead letter. Requeue that one.");
  await close();
});

test("run is run again with another payload", async () => {
  const id = await submit(world.server, "hostile", { n: 1 });
  await comeTo(world.server, id, "completed");
  const { page, watch, close } = await world.open({ path: `/runs/${id}` });
  await page.getByRole("button", { name: "Run again" }).click();
  const dialog = page.getByRole("dialog", { name: "Run again" });
  await dialog.getByLabel("With another payload").check();
  await dialog.getByLabel("Payload", { exact: true }).fill("{ not JSON");
  assert.equal(await confirmIn(page, "Run again").getAttribute("title"), "The payload is not JSON.");
  await dialog.getByLabel("Payload", { exact: true }).fill('{"n": 4242}');
  assert.deepEqual(await findViolations(page), []);
  await confirmIn(page, "Run again").click();
  await expectAuditRow(world, page, "The run is accepted once more.", "rerun");
  await page.waitForURL((url) => /\/runs\/[^/]+$/.test(url.pathname) && !url.pathname.endsWith(id));
  await page.getByText("Repeats").waitFor();
  await page.getByText("4242").first().waitFor();
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("run that waits for an answer is cancelled", async () => {
  const id = await submit(world.server, "slow");
  await comeTo(world.server, id, "running");
  const { page, watch, close } = await world.open({ path: `/runs/${id}` });
  await page.getByRole("button", { name: "Cancel" }).click();
  await confirmIn(page, "Cancel").last().click();
  await expectAuditRow(world, page, "The run is cancelled.", "cancel");
  await page.locator(".view-head").getByText("cancelled").waitFor();
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("occurrence is retried from its list", async () => {
  await world.server.ask("POST", `${ADMIN}/channels/nightly/pause`, { reason: "test" });
  await world.server.ask("POST", `${ADMIN}/channels/nightly/resume`);
  const { page, watch, close } = await world.open({ path: `/occurrences/${world.samples.occurrences}` });
  // What completed is not retried, and the button says so.
  assert.equal(await page.getByRole("button", { name: "Retry" }).getAttribute("title"), "What completed is not retried. Run it again by its run.");
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("bulk run shows its preview and its progress and is aborted", async () => {
  await makeLetters(world.server, "broken", 40);
  const { data } = await world.server.get(`${ADMIN}/trace-dlq?limit=1&channel=broken`);
  assert.equal(data.length, 1);
  const { page, watch, close } = await world.open({ path: "/runs?kind=dead_letters" });
  const requeue = page.getByRole("toolbar").getByRole("button", { name: "Requeue" });
  assert.equal(await requeue.getAttribute("title"), "Filter or select rows to act on many.");
  await page.getByRole("combobox").fill("channel:broken");
  await page.getByRole("combobox").press("Enter");
  await page.waitForURL(/channel=broken/);
  await settle(page);
  const { total } = await world.server.get(`${ADMIN}/trace-dlq?limit=1&channel=broken`);
  await requeue.click();
  const dialog = page.getByRole("dialog", { name: "Requeue" });
  await dialog.getByText(`${total} rows match now.`).waitFor();
  await dialog.getByLabel("Rows a second").fill("1");
  assert.deepEqual(await findViolations(page), []);
  await page.setViewportSize({ width: 360, height: 740 });
  assert.deepEqual(await findOverflow(page), []);
  await page.setViewportSize({ width: 1280, height: 800 });
  await confirmIn(page, `Requeue ${total} dead letters`).click();
  await expectAuditRow(world, page, "Requeuing has begun.", "bulk_start");
  const progress = page.getByRole("region", { name: "Progress of the bulk run" });
  await progress.getByText(`of ${total} done`).waitFor();
  await progress.getByText(/^[1-9]\d* of/).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await progress.getByRole("button", { name: "Abort" }).click();
  await progress.getByText("aborted").waitFor();
  await page.reload();
  await progress.getByText("aborted").waitFor();
  const id = new URL(page.url()).searchParams.get("bulk");
  const run = (await world.server.get(`${ADMIN}/bulk/${id}`)).data;
  assert.ok(run.done < total, `${run.done} of ${total} were done`);
  await progress.getByRole("button", { name: "Close" }).click();
  await progress.waitFor({ state: "detached" });
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("rows are selected by keyboard and acted on", async () => {
  await makeLetters(world.server, "broken", 3);
  const { page, watch, close } = await world.open({ path: "/runs?kind=dead_letters" });
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByText("2 rows selected").waitFor();
  await page.getByRole("toolbar").getByRole("button", { name: "Purge" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Purge" });
  await dialog.getByText("2 rows match now.").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("toolbar").getByRole("button", { name: "Purge" }).press("Enter");
  await dialog.getByText("2 rows match now.").waitFor();
  await dialog.getByRole("button", { name: "Purge 2 dead letters" }).press("Enter");
  await expectAuditRow(world, page, "Purging has begun.", "bulk_start");
  const id = await eventually("the address has the bulk run", () => new URL(page.url()).searchParams.get("bulk"));
  await eventually("two letters are purged", async () => (await world.server.get(`${ADMIN}/bulk/${id}`)).data.done === 2);
  assert.deepEqual(await watch.faults(), []);
  await close();
});
