// The acts on channels and schedules: pause and resume with a reason, trigger, backfill with a preview.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAuditRow, followAuditRow } from "../kit/acts.mjs";
import { settle, SIZES } from "../kit/browser.mjs";
import { findOverflow, findViolations } from "../kit/checks.mjs";
import { EVERYTHING, HOSTILE } from "../kit/hostile.mjs";
import { hasView } from "../kit/registry.mjs";
import { eventually } from "../kit/wait.mjs";
import { useWorld } from "../kit/world.mjs";

const ADMIN = "/api/v1/admin";
const world = useWorld();
const channels = { skip: !hasView("channel") && "the console has no view of channels" };
const schedules = { skip: !hasView("schedules") && "the console has no view of schedules" };

const pauseOf = async (id) => (await world.server.get(`${ADMIN}/channels/${id}`)).data.paused;

/** Checks that an open question is accessible and fits a narrow page. */
async function checkQuestion(page) {
  assert.deepEqual(await findViolations(page), []);
  await page.setViewportSize(SIZES.narrow);
  assert.deepEqual(await findOverflow(page), []);
  await page.setViewportSize(SIZES.wide);
}

test("channel is paused with a reason and resumed", channels, async () => {
  const { page, watch, close } = await world.open({ path: "/channels/hostile" });
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const dialog = page.getByRole("dialog");
  const confirm = dialog.getByRole("button", { name: "Pause", exact: true });
  assert.equal(await confirm.getAttribute("title"), "A pause needs a reason: others read it.");
  const reason = HOSTILE.script + HOSTILE.direction;
  await dialog.getByLabel("Reason").fill(reason);
  await checkQuestion(page);
  await confirm.click();
  await expectAuditRow(world, page, "is paused.", "pause");
  await page.locator("#main").getByText(HOSTILE.script).first().waitFor();
  assert.equal((await pauseOf("hostile")).reason, reason.trim());
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  const row = await expectAuditRow(world, page, "is resumed.", "resume");
  assert.equal(await pauseOf("hostile"), undefined);
  await followAuditRow(page, row);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("channels with a label are paused at once", channels, async () => {
  const tag = HOSTILE.image;
  const { page, watch, close } = await world.open({ path: `/channels?tag=${encodeURIComponent(tag)}` });
  await page.getByRole("button", { name: "Pause all with label" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("the bank is down");
  await dialog.getByRole("button", { name: "Pause 3 channels" }).click();
  await expectAuditRow(world, page, "are paused.", "pause");
  for (const id of ["hostile", "broken", "quiet"]) assert.equal((await pauseOf(id)).reason, "the bank is down", id);
  assert.equal(await pauseOf("slow"), undefined);
  await world.server.ask("POST", `${ADMIN}/channels/resume`, { filter: { tag }, reason: "done" });
  await world.server.ask("POST", `${ADMIN}/channels/quiet/pause`, { reason: EVERYTHING });
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("schedule is triggered", schedules, async () => {
  const count = async () => (await world.server.get(`${ADMIN}/cron/occurrences?channel_id=nightly&status=completed`)).data.length;
  const before = await count();
  const { page, watch, close } = await world.open({ path: "/schedules?schedule=nightly" });
  await page.getByRole("button", { name: "Run now" }).click();
  await checkQuestion(page);
  await page.getByRole("dialog").getByRole("button", { name: "Run now" }).click();
  await expectAuditRow(world, page, "An occurrence is due now.", "trigger");
  await eventually("the occurrence has run", async () => (await count()) > before);
  await settle(page);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("backfill shows what it would run and runs it", schedules, async () => {
  const { page, watch, close } = await world.open({ path: "/schedules?schedule=nightly" });
  await page.getByRole("button", { name: "Backfill" }).click();
  const dialog = page.getByRole("dialog");
  const day = (days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  await dialog.getByLabel("From").fill("yesterday, perhaps");
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("From").fill(`${day(4)}T00:00:00Z`);
  await dialog.getByLabel("Until").fill(`${day(1)}T00:00:00Z`);
  await dialog.getByLabel("Take instants without a record as missed").check();
  await dialog.getByText("3 instants would run.").waitFor();
  await checkQuestion(page);
  await dialog.getByRole("button", { name: "Run 3 instants" }).click();
  await expectAuditRow(world, page, "The backfill has begun.", "bulk_start");
  const id = await eventually("the address has the bulk run", () => new URL(page.url()).searchParams.get("bulk"));
  const run = await eventually("the backfill has ended", async () => {
    const { data } = await world.server.get(`${ADMIN}/bulk/${id}`);
    return data.state === "completed" && data;
  });
  assert.equal(run.done, 3);
  // The service refused the range that was no time.
  const isRefusal = (fault) => fault.includes("400 (Bad Request)");
  await page.getByText("3 of 3 done").waitFor();
  assert.deepEqual((await watch.faults()).filter((fault) => !isRefusal(fault)), []);
  await close();
});
