// Addresses that somebody else made: hostile paths and queries, and texts that are typed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../kit/browser.mjs";
import { findCollisions, findOverflow } from "../kit/checks.mjs";
import { EVERYTHING, HOSTILE } from "../kit/hostile.mjs";
import { fillPath, VIEWS } from "../kit/registry.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();

const encoded = encodeURIComponent(EVERYTHING);
const WORDS = ["q", "status", "kind", "channel", "tag", "workflow", "error_code", "since", "range", "by", "bulk", "entry", "tab", "selected", "id", "node"];
const everyWord = WORDS.map((word) => `${word}=${encoded}`).join("&");

test("policy is in force and breaches are noticed", async () => {
  const { page, watch, close } = await world.open();
  const policy = await page.evaluate(async () => (await fetch(location.href)).headers.get("content-security-policy"));
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), policy);
  assert.ok(!/unsafe|\*/.test(policy), policy);
  await watch.faults();
  const outcome = await page.evaluate(async () => {
    const script = document.createElement("script");
    let refusal = null;
    try {
      document.createElement("div").innerHTML = "<b>text</b>";
    } catch (error) {
      refusal = error.name;
    }
    try {
      script.textContent = "window.executed = 1";
      document.head.append(script);
    } catch {
      // The policy refuses the assignment or the script.
    }
    return { refusal, executed: window.executed };
  });
  assert.deepEqual(outcome, { refusal: "TypeError", executed: undefined });
  assert.ok((await watch.faults()).some((fault) => fault.startsWith("breach of the policy")));
  await close();
});

for (const view of VIEWS) {
  test(`view ${view.name} takes hostile addresses`, async () => {
    const { page, watch, visit, close } = await world.open({ path: null });
    // What does not exist is answered with 404, which the browser notes.
    const isFault = (fault) => !fault.startsWith("Failed to load resource");
    const texts = view.path.includes(":") ? [encodeURIComponent(HOSTILE.image), "..%2f..%2fadmin%00"] : [];
    const paths = texts.map((text) => fillPath(view, () => text));
    for (const path of [...paths, `${fillPath(view, () => "none")}?${everyWord}`]) {
      await visit(path);
      const faults = [...(await watch.faults()).filter(isFault), ...(await findOverflow(page)), ...(await findCollisions(page))];
      assert.deepEqual(faults, [], path);
      assert.ok((await page.locator("#main").innerText()).trim().length > 0, `${path}: nothing is shown`);
      assert.equal(await page.getByText("This view could not be shown.").count(), 0, `${path}: ${await page.locator("#main").innerText()}`);
    }
    await close();
  });
}

test("address without a view says so", async () => {
  const { page, watch, visit, close } = await world.open({ path: null });
  // One segment with a dot names a file.
  for (const path of [`/none/${encodeURIComponent(HOSTILE.image)}`, "/none/of/these", `/none/%22%3E${encodeURIComponent(HOSTILE.script)}`]) {
    await visit(path);
    await page.getByText("There is no view at this address.").waitFor();
    assert.deepEqual(await watch.faults(), []);
  }
  await close();
});

test("typed texts are texts", async () => {
  const { page, watch, close } = await world.open({ path: "/runs", size: "narrow" });
  await page.getByRole("combobox").fill(`channel:${EVERYTHING}`);
  await page.getByRole("combobox").press("Enter");
  await page.waitForURL(/channel=/);
  await settle(page);
  assert.deepEqual(await findOverflow(page), []);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to, find, do" }).fill(EVERYTHING);
  assert.deepEqual(await findOverflow(page), []);
  await page.keyboard.press("Escape");
  assert.deepEqual((await watch.faults()).filter((fault) => !fault.startsWith("Failed to load resource")), []);
  await close();
});
