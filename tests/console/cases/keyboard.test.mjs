// The views, the palette and the list of keys by keyboard alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pressSequence, settle } from "../kit/browser.mjs";
import { findViolations } from "../kit/checks.mjs";
import { hasView, pathPattern, VIEWS } from "../kit/registry.mjs";
import { eventually } from "../kit/wait.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();

const palette = (page) => page.getByRole("dialog").getByRole("combobox");

/** Waits until the address is that of a view, and the view is shown. */
async function arrive(page, view) {
  const pattern = pathPattern(world.site.base, view);
  await page.waitForURL((url) => pattern.test(url.pathname));
  await settle(page);
}

test("letters behind g go to their views", async () => {
  const { page, watch, close } = await world.open();
  for (const view of VIEWS.filter(({ key }) => key !== undefined)) {
    await pressSequence(page, "g", view.key);
    await arrive(page, view);
    const hasFocus = () => page.evaluate(() => document.activeElement?.matches("[data-view-title]"));
    await eventually(`${view.name}: the title has the focus`, hasFocus);
  }
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("palette finds every view, definitions and runs", async () => {
  const { page, watch, close } = await world.open();
  for (const view of VIEWS.filter(({ group }) => group !== undefined)) {
    const title = await page.locator(`nav a[href$="${world.site.base}${view.path === "/" ? "" : view.path}"].nav-item`).first().innerText();
    await page.keyboard.press("Control+k");
    await palette(page).fill(title);
    await page.getByRole("option", { selected: true }).filter({ hasText: title }).waitFor();
    await page.keyboard.press("Enter");
    await arrive(page, view);
  }
  await page.keyboard.press("/");
  await palette(page).fill(world.samples.runs);
  await page.getByRole("option", { selected: true }).filter({ hasText: "Open run" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "broken" }).waitFor();
  await page.keyboard.press("Control+k");
  await palette(page).fill("img src");
  if (hasView("channel")) await page.getByRole("option").filter({ hasText: "<img src=x" }).first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("palette takes what is typed in the moment it opens", async () => {
  const { page, watch, close } = await world.open({ path: "/runs" });
  // Within the task of the key, before the page paints.
  const typed = await page.evaluate(async () => {
    const press = (init) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init }));
    press({ key: "k", ctrlKey: true });
    for (let turn = 0; turn < 50; turn += 1) await null;
    return document.activeElement.getAttribute("role");
  });
  assert.equal(typed, "combobox");
  assert.equal(await palette(page).count(), 1);
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("row that a key chooses has the focus before the next key", async () => {
  const { page, watch, close } = await world.open({ path: "/runs" });
  const row = await page.evaluate(async () => {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, key: "j" }));
    for (let turn = 0; turn < 50; turn += 1) await null;
    return document.activeElement.closest("tr")?.dataset.row;
  });
  assert.equal(row, "0");
  assert.deepEqual(await watch.faults(), []);
  await close();
});

test("list of keys shows and closes by keyboard", async () => {
  const { page, watch, close } = await world.open({ path: "/runs" });
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.getByText("Next row").waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator("body").press("f");
  await eventually("the filter has the focus", () => page.evaluate(() => document.activeElement?.getAttribute("role") === "combobox"));
  await page.keyboard.type("status:failed");
  await page.keyboard.press("Enter");
  await page.waitForURL(/status=failed/);
  await page.keyboard.press("?");
  await eventually("letters are text in a field", async () => (await page.getByRole("combobox").inputValue()) === "?");
  assert.deepEqual(await watch.faults(), []);
  await close();
});

/** Ways to a view other than from the list above it: a path, and the key that goes on from there. */
const WAYS = {
  occurrence: { path: "/runs?kind=occurrences" },
  editor: { path: "/workflows/hostile", key: "e" },
  new: { path: "/workflows", text: "New" },
};

/** Returns the way to a view. */
function wayTo(view) {
  const isList = ({ path }) => path !== "/" && !path.includes(":");
  const above = VIEWS.find(({ name }) => name === view.under) ?? VIEWS.find((other) => isList(other) && view.path.startsWith(`${other.path}/`));
  return WAYS[view.name] ?? { path: above?.path };
}

/** Moves the focus by keys to what leads on: a link whose path fits, or a button of that text. */
async function findFocus(page, pattern, text) {
  const isThere = () =>
    page.evaluate(([source, word]) => {
      const element = document.activeElement;
      return word === undefined ? new RegExp(source).test(element?.pathname ?? "") : element?.tagName === "BUTTON" && element.textContent.includes(word);
    }, [pattern.source, text]);
  for (const [key, most] of [["j", 40], ["Tab", 120]]) {
    for (let step = 0; step < most; step++) {
      if (await isThere()) return true;
      await page.keyboard.press(key);
    }
  }
  return false;
}

for (const view of VIEWS.filter(({ path }) => path.includes(":"))) {
  test(`view ${view.name} opens from the one above it by keyboard`, async () => {
    const { path, key, text } = wayTo(view);
    assert.ok(path, `no view leads to ${view.name}`);
    const { page, watch, close } = await world.open({ path });
    if (key === undefined) assert.ok(await findFocus(page, pathPattern(world.site.base, view), text), `nothing that leads to ${view.path} takes the focus at ${path}`);
    await page.keyboard.press(key ?? "Enter");
    await arrive(page, view);
    assert.deepEqual(await watch.faults(), []);
    await close();
  });
}
