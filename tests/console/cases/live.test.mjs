// What happens while the page is open: new rows, a restart, a key that is withdrawn, a tab that is hidden.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pressSequence, settle } from "../kit/browser.mjs";
import { KEYS } from "../kit/server.mjs";
import { submit } from "../kit/seed.mjs";
import { eventually } from "../kit/wait.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();
const OTHER = "next-0123456789abcdef0123456789abcdef";

/** Marks the document, so that a reload would show. */
const mark = (page) => page.evaluate(() => (window.isSame = true));
const isSame = (page) => page.evaluate(() => window.isSame === true);

const streamSays = (page, text) => page.getByRole("navigation").getByRole("status").filter({ hasText: text }).waitFor();

/** Waits until the stream is open, or is known to be missing. */
const streamIsSettled = (page) => streamSays(page, world.isLive ? "Live" : "Reads every few seconds");

/** Has the page believe that its tab is hidden, or that it is seen again. */
async function hide(page, isHidden) {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (hidden ? "hidden" : "visible") });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

/** Waits until the code of the other views is loaded, of which one part asks for the next. */
async function codeIsLoaded(page, watch) {
  const code = () => watch.requests.filter((request) => request.url().includes("/assets/"));
  for (let known = 0; known < code().length; ) {
    known = code().length;
    await Promise.all(code().map(async (request) => (await request.response())?.finished()));
    await settle(page);
  }
}

test("new rows are announced and shown on demand", async () => {
  const { page, watch, close } = await world.open({ path: "/runs?channel=broken" });
  const rows = page.locator("tbody tr[data-row]");
  const first = await rows.first().locator("a").getAttribute("href");
  const count = await rows.count();
  const ids = [await submit(world.server, "broken"), await submit(world.server, "broken")];
  const news = page.getByRole("button", { name: "2 new rows" });
  await news.waitFor();
  assert.equal(await rows.first().locator("a").getAttribute("href"), first, "the rows stay in their places");
  assert.equal(await rows.count(), count);
  await news.click();
  await page.locator(`tbody a[href*="${ids[1]}"]`).waitFor();
  assert.equal(await news.count(), 0);
  assert.ok((await rows.first().locator("a").getAttribute("href")).includes(ids[1]), "the newest row is the first");
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("page recovers from a restart without a reload", async () => {
  const { page, watch, close } = await world.open({ path: "/" });
  await streamIsSettled(page);
  await mark(page);
  await world.server.end("SIGKILL");
  try {
    await page.getByText(world.isLive ? "No connection" : "The service does not answer.").first().waitFor();
    assert.ok((await page.locator(".panel").count()) > 0, "what was read stays on the page");
  } finally {
    await world.server.begin();
  }
  await streamIsSettled(page);
  for (const text of ["No connection", "The service does not answer."]) await page.getByText(text).first().waitFor({ state: "detached" });
  assert.ok(await isSame(page), "the page was loaded anew");
  // What failed meanwhile is no fault.
  const faults = (await watch.faults()).filter((fault) => !/Failed to load resource|net::ERR/.test(fault));
  assert.deepEqual(faults, []);
  await pressSequence(page, "g", "r");
  await page.locator("tbody tr[data-row]").first().waitFor();
  await close();
});

test("stream that falls silent counts as lost", async (t) => {
  if (!world.isLive) return t.skip("the service has no stream");
  const { page, visit, close } = await world.open({ path: null });
  await page.clock.install();
  await visit("/");
  await streamIsSettled(page);
  world.server.signal("SIGSTOP");
  try {
    await page.clock.fastForward("00:20");
    await streamSays(page, "No connection");
  } finally {
    world.server.signal("SIGCONT");
  }
  await eventually("the stream is open again", async () => {
    await page.clock.runFor("00:01");
    return page.getByRole("navigation").getByText("Live", { exact: true }).isVisible();
  });
  await close();
});

test("withdrawn key ends the session and another goes on", async () => {
  const path = "/runs?channel=broken";
  const { page, watch, close } = await world.open({ path });
  await streamIsSettled(page);
  await mark(page);
  try {
    world.server.configure([["bob", OTHER]]);
    world.server.reload();
    await page.getByRole("alert").filter({ hasText: "The key is not valid any more." }).waitFor();
    assert.equal(await page.getByText("broken").count(), 0, "nothing of the service is left on the page");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.getByLabel("Admin key").fill(OTHER);
    await page.keyboard.press("Enter");
    await page.locator("tbody tr[data-row]").first().waitFor();
    await page.getByText("bob").waitFor();
    await streamIsSettled(page);
    assert.ok(page.url().endsWith(path) && (await isSame(page)), page.url());
    const faults = (await watch.faults()).filter((fault) => !fault.includes("401"));
    assert.deepEqual(faults, []);
  } finally {
    world.server.configure();
    world.server.reload();
    await eventually("the first key is valid again", async () => (await world.server.send("GET", "/api/v1/admin/whoami")).status === 200);
  }
  await close();
});

test("hidden tab asks for nothing and catches up", async (t) => {
  if (!world.isLive) return t.skip("the service has no stream");
  const { page, watch, visit, close } = await world.open({ path: null });
  await page.clock.install();
  await visit("/runs?channel=broken");
  await streamIsSettled(page);
  await page.clock.runFor("00:02");
  await codeIsLoaded(page, watch);
  await hide(page, true);
  if (world.isLive) await streamSays(page, "Paused");
  const before = watch.requests.length;
  await page.clock.fastForward("10:00");
  await page.clock.runFor("00:30");
  assert.deepEqual(watch.requests.slice(before).map((request) => request.url()), []);
  await submit(world.server, "broken");
  await hide(page, false);
  await streamIsSettled(page);
  await page.clock.runFor("00:10");
  await page.getByRole("button", { name: "1 new row" }).waitFor();
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("service that stops is waited for with the same key", async () => {
  const { page, close } = await world.open({ path: "/runs" });
  await settle(page);
  await world.server.end("SIGTERM");
  try {
    await page.getByText("No connection").or(page.getByText("The service does not answer.")).first().waitFor();
    assert.equal(await page.getByLabel("Admin key").count(), 0, "a service that is away has not refused the key");
  } finally {
    await world.server.begin();
  }
  await page.getByText("The service does not answer.").first().waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => sessionStorage.getItem("svc-console.key")), KEYS.full);
  await close();
});
