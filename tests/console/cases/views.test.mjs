// Every view of the registry, in a service whose names and payloads are hostile.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { settle, SIZES } from "../kit/browser.mjs";
import { findCollisions, findOverflow, findUnreachable, findViolations } from "../kit/checks.mjs";
import { fillPath, VIEWS } from "../kit/registry.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();
/** Parameters of views that are no ids of the seed. */
const SAMPLES = { editor: { kind: "workflow", id: "hostile" }, new: { kind: "channel" } };

const pictures = process.env.SVC_CONSOLE_PICTURES;

/** Further faces of views, by the query. */
const FACES = {
  runs: ["?kind=dead_letters&status=exhausted", "?by=error", "?channel=none"],
  channel: ["?tab=versions", "?tab=definition", "?tab=dependents"],
  workflow: ["?tab=versions", "?tab=trial", "?tab=dependents"],
};

/** Returns the path of a view with the ids of the samples. */
function pathOf(view) {
  return fillPath(view, (name) => {
    const sample = SAMPLES[view.name]?.[name] ?? world.samples[view.path.split("/")[1]];
    assert.ok(sample, `there is no sample for ${name} of the view ${view.name} (${view.path})`);
    return encodeURIComponent(sample);
  });
}

async function takePicture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

for (const view of VIEWS) {
  test(`view ${view.name} holds among hostile names`, async () => {
    const { page, watch, visit, close } = await world.open({ path: pathOf(view) });
    const faults = [];
    const add = (where, found) => faults.push(...found.map((fault) => `${where}: ${fault}`));
    await page.locator("[data-view-title]").waitFor();
    assert.doesNotMatch(await page.title(), /^Not found/, "the page does not have this view");
    assert.equal(await page.getByText("This view could not be shown.").count(), 0, await page.locator("main").innerText());
    add("at first", await watch.faults());
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const size of ["wide", "narrow"]) {
        await page.setViewportSize(SIZES[size]);
        await settle(page);
        add(`${scheme}, ${size}`, [...(await findOverflow(page)), ...(await findCollisions(page))]);
        await takePicture(page, `${view.name}-${size}-${scheme}`);
        add(`${scheme}, ${size}`, await findViolations(page, scheme === "dark" ? ["color-contrast"] : undefined));
      }
    }
    await page.setViewportSize(SIZES.wide);
    await page.emulateMedia({ colorScheme: "light" });
    add("by keyboard", await findUnreachable(page));
    for (const face of FACES[view.name] ?? []) {
      await visit(pathOf(view) + face);
      add(face, [...(await findViolations(page)), ...(await findOverflow(page)), ...(await findCollisions(page))]);
      await takePicture(page, `${view.name}-${face.replaceAll(/\W+/g, "-")}-wide-light`);
      await page.setViewportSize(SIZES.narrow);
      add(`${face}, narrow`, [...(await findOverflow(page)), ...(await findCollisions(page))]);
      await page.setViewportSize(SIZES.wide);
    }
    add("at last", await watch.faults());
    await close();
    assert.deepEqual(faults, []);
  });
}
