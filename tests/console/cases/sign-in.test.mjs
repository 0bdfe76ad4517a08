// The sign-in with each kind of key, and the places in which the key must not be.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../kit/browser.mjs";
import { findOverflow, findUnreachable, findViolations } from "../kit/checks.mjs";
import { KEYS } from "../kit/server.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();

async function signIn(page, key) {
  await page.getByLabel("Admin key").fill(key);
  await page.keyboard.press("Enter");
}

/** Returns the places outside of the memory of the page that have the key, other than the session of the tab. */
async function findLeaks(page, watch, key) {
  const places = await page.evaluate(() => ({
    address: location.href,
    history: JSON.stringify(history.state),
    local: JSON.stringify({ ...localStorage }),
    cookies: document.cookie,
    page: document.documentElement.outerHTML,
  }));
  const leaks = Object.entries(places).filter(([, text]) => text.includes(key)).map(([place]) => place);
  const addresses = watch.requests.map((request) => request.url()).filter((url) => url.includes(key));
  return [...leaks, ...addresses];
}

test("sign-in is accessible and refuses a wrong key", async () => {
  const { page, watch, close } = await world.open({ key: null });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    assert.deepEqual(await findViolations(page), [], scheme);
  }
  assert.deepEqual(await findUnreachable(page), []);
  await signIn(page, KEYS.wrong);
  await page.getByRole("alert").filter({ hasText: "The service does not know this key." }).waitFor();
  assert.equal(await page.getByRole("navigation").count(), 0);
  assert.deepEqual(await findLeaks(page, watch, KEYS.wrong), []);
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.setViewportSize({ width: 360, height: 740 });
  assert.deepEqual(await findOverflow(page), []);
  assert.deepEqual(await findViolations(page), []);
  await close();
});

test("full key acts and is kept in the tab alone", async () => {
  const { page, watch, close } = await world.open({ key: null, path: `/runs/${world.samples.runs}` });
  await signIn(page, KEYS.full);
  await page.getByRole("heading", { name: "broken" }).waitFor();
  await settle(page);
  assert.ok(page.url().endsWith(`/runs/${world.samples.runs}`), "the address of the view outlives the sign-in");
  assert.equal(await page.getByRole("button", { name: "Requeue" }).getAttribute("aria-disabled"), null);
  await page.reload();
  await page.getByRole("heading", { name: "broken" }).waitFor();
  assert.deepEqual(await findLeaks(page, watch, KEYS.full), []);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByLabel("Admin key").waitFor();
  await other.close();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Admin key").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.equal(await page.getByText("broken").count(), 0, "nothing of the service is left on the page");
  await close();
});

test("key that is not to be kept is gone after a reload", async () => {
  const { page, close } = await world.open({ key: null });
  await page.getByLabel("Keep it in this tab").uncheck();
  await signIn(page, KEYS.full);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.reload();
  await page.getByLabel("Admin key").waitFor();
  await close();
});

test("read-only key sees everything and every act says why not", async () => {
  const { page, watch, close } = await world.open({ key: null, path: `/runs/${world.samples.runs}` });
  await signIn(page, KEYS.readOnly);
  await page.getByRole("heading", { name: "broken" }).waitFor();
  await settle(page);
  await page.getByText("read only").waitFor();
  for (const name of ["Requeue", "Run again"]) {
    const button = page.getByRole("button", { name });
    assert.equal(await button.getAttribute("aria-disabled"), "true", name);
    assert.equal(await button.getAttribute("title"), "The key of grace may only read.", name);
  }
  const before = watch.requests.length;
  await page.getByRole("button", { name: "Requeue" }).press("Enter");
  await page.getByRole("log").getByText("The key of grace may only read.").waitFor();
  const writes = watch.requests.slice(before).filter((request) => request.method() !== "GET");
  assert.deepEqual(writes.map((request) => request.url()), []);
  assert.deepEqual(await findLeaks(page, watch, KEYS.readOnly), []);
  await close();
});
