// What every act shows: a message with the audit row that it made.

import assert from "node:assert/strict";
import { settle } from "./browser.mjs";
import { hasView } from "./registry.mjs";

/** Waits for the message of an act, and checks that it links to the newest audit row of that action. Returns the row. */
export async function expectAuditRow(world, page, text, action) {
  const message = page.getByRole("log").locator(".toast.done").filter({ hasText: text });
  // A message goes by itself after a while.
  const address = world.isLive ? await message.getByRole("link", { name: "Audit row" }).getAttribute("href") : await message.waitFor();
  const { data } = await world.server.get(`/api/v1/admin/audit-logs?action=${action}&limit=1`);
  const [row] = data;
  assert.ok(row, `there is an audit row of ${action}`);
  if (world.isLive) assert.equal(new URL(address, page.url()).searchParams.get("entry"), row.id, `the message links to the row of ${action}`);
  return row;
}

/** Follows the link of a message to its audit row, and waits until the view of the audit log shows it. */
export async function followAuditRow(page, row) {
  if (!hasView("audit")) return;
  await page.getByRole("link", { name: "Audit row" }).last().click();
  await page.waitForURL((url) => url.searchParams.get("entry") === row.id);
  await settle(page);
  await page.locator("#main").getByText(row.resource_id, { exact: false }).first().waitFor();
}
