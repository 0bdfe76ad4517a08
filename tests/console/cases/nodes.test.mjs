// Nodes that go while the page is open: one of two is killed, one is drained by its button.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startBalancer } from "../kit/balancer.mjs";
import { openPage, pressSequence, settle, startBrowser } from "../kit/browser.mjs";
import { Server } from "../kit/server.mjs";
import { openSite } from "../kit/site.mjs";
import { eventually } from "../kit/wait.mjs";

const ADMIN = "/api/v1/admin";
const POSTGRES = fileURLToPath(new URL("../../peers/postgres", import.meta.url));
const LEASE = ["[cluster]", "node_lease_secs = 3", "[server.console]", "enabled = true"];

let browser;
before(async () => void (browser = await startBrowser()));
after(() => browser?.close());

/** Marks the document, so that a reload would show. */
const mark = (page) => page.evaluate(() => (window.isSame = true));
const isSame = (page) => page.evaluate(() => window.isSame === true);
const streamSays = (page, text) => page.getByRole("navigation").getByRole("status").filter({ hasText: text }).waitFor();
const idOf = async (server) => (await server.get(`${ADMIN}/nodes`)).data.find((node) => node.is_this).id;

/** Starts a PostgreSQL for two nodes; null if there is none. */
function startPostgres(folder) {
  const started = spawnSync(POSTGRES, ["start", folder], { encoding: "utf8" });
  return started.status === 0 ? started.stdout.trim().split("\n").at(-1) : null;
}

test("killed node of two shows without a reload", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-postgres-"));
  // The server has a user of its own.
  chmodSync(folder, 0o755);
  // A server of which nobody holds the lock is stopped after some seconds.
  const lock = spawn("flock", ["-s", "-F", join(folder, "db.users"), "sleep", "infinity"]);
  const database = startPostgres(join(folder, "db"));
  if (database === null) {
    assert.notEqual(process.env.SVC_TEST_REQUIRE, "all", "PostgreSQL is missing");
    lock.kill();
    rmSync(folder, { recursive: true, force: true });
    return t.skip("there is no PostgreSQL");
  }
  const nodes = [];
  let balancer;
  let site;
  try {
    for (let number = 0; number < 2; number++) nodes.push(await Server.start({ database, toml: LEASE }));
    const [killed, left] = nodes;
    const [killedId, leftId] = [await idOf(killed), await idOf(left)];
    balancer = await startBalancer(nodes);
    site = await openSite(balancer);
    const { page, watch, close } = await openPage(browser, site, { path: "/nodes" });
    await streamSays(page, "Live");
    for (const id of [killedId, leftId]) await page.getByRole("heading", { name: id }).waitFor();
    await mark(page);
    await killed.end("SIGKILL");
    // The stream goes on at the other node, which the page names.
    await page.locator(`nav [role=status][title*="${leftId}"]`).waitFor();
    await streamSays(page, "Live");
    // The other one may be late with its lease too.
    const card = page.locator(".panel").filter({ has: page.getByRole("heading", { name: killedId }) });
    await card.getByText("lease expired").waitFor();
    await card.getByText("It did not renew its lease; others take over its work.").waitFor();
    await pressSequence(page, "g", "n");
    await settle(page);
    await page.locator("#main a.line").filter({ hasText: killedId }).waitFor();
    assert.ok(await isSame(page), "the page was loaded anew");
    // What failed while the node went is no fault.
    assert.deepEqual((await watch.faults()).filter((fault) => !/Failed to load resource|net::ERR/.test(fault)), []);
    await close();
  } finally {
    site?.stop();
    balancer?.stop();
    for (const node of nodes) await node.remove();
    execFileSync(POSTGRES, ["stop", join(folder, "db")]);
    lock.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("node is drained by its button", async () => {
  const server = await Server.start({ toml: LEASE, drainSecs: 1 });
  const site = await openSite(server);
  try {
    const { page, watch, close } = await openPage(browser, site, { path: "/nodes" });
    await streamSays(page, "Live");
    await mark(page);
    await page.locator("#main").getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("log").getByText("The node drains.").waitFor();
    await eventually("the process has ended", () => server.hasEnded);
    await page.getByText("No connection").or(page.getByText("The service does not answer.")).first().waitFor();
    await server.begin();
    await streamSays(page, "Live");
    const { data } = await server.get(`${ADMIN}/audit-logs?action=drain&limit=1`);
    assert.equal(data[0]?.principal, "ada");
    assert.ok(await isSame(page), "the page was loaded anew");
    const faults = (await watch.faults()).filter((fault) => !/Failed to load resource|net::ERR|503/.test(fault));
    assert.deepEqual(faults, []);
    await close();
  } finally {
    site.stop();
    await server.remove();
  }
});
