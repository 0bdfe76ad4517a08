// The cost of the first view: calls of the API, bytes of assets, and what is loaded again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../kit/browser.mjs";
import { useWorld } from "../kit/world.mjs";

const world = useWorld();

const MOST_CALLS = 6;
/** Bytes of all that the first view loads, compressed; the editor is none of it. */
const MOST_BYTES = 120 * 1024;

const isCall = (url) => /\/(api\/v1|health)/.test(new URL(url).pathname);
const isAsset = (url) => new URL(url).pathname.includes("/assets/");

test("first view makes at most six calls and loads 120 KiB", async (t) => {
  const { page, watch, visit, close } = await world.open({ path: null });
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const addresses = new Map();
  const sizes = new Map();
  session.on("Network.responseReceived", ({ requestId, response }) => addresses.set(requestId, response));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(requestId, encodedDataLength));
  // What is read or loaded some time later is none of the first view, however slow that is.
  await page.addInitScript(() => {
    const wait = window.setTimeout.bind(window);
    window.setTimeout = (run, pause = 0, ...rest) => (pause < 1000 ? wait(run, pause, ...rest) : 0);
    window.setInterval = () => 0;
  });
  await visit("/");
  if (world.isLive) await page.waitForFunction(() => (document.querySelector(".figures .value")?.textContent ?? "–") !== "–");
  const calls = watch.requests.map((request) => request.url()).filter(isCall);
  assert.ok(calls.length <= MOST_CALLS, calls.join("\n"));
  assert.equal(new Set(calls).size, calls.length, `a call was made twice:\n${calls.join("\n")}`);
  const assets = [...addresses].filter(([, response]) => isAsset(response.url));
  const bytes = assets.reduce((sum, [id]) => sum + (sizes.get(id) ?? 0), 0);
  t.diagnostic(`${calls.length} calls, ${bytes} bytes in ${assets.length} assets`);
  if (!world.site.isFront) {
    for (const [, { url, headers }] of assets) {
      assert.match(headers["content-encoding"] ?? "", /^(br|gzip)$/, url);
      assert.match(headers["cache-control"] ?? "", /immutable/, url);
    }
    assert.ok(bytes > 0 && bytes <= MOST_BYTES, `${bytes} bytes`);
  }
  assert.deepEqual(await watch.faults(), []);
  addresses.clear();
  sizes.clear();
  await page.reload();
  await settle(page);
  const again = [...addresses].filter(([id, { url, fromDiskCache }]) => isAsset(url) && !fromDiskCache && sizes.get(id) > 0);
  assert.deepEqual(again.map(([, { url }]) => url), [], "assets are kept by the browser");
  await close();
});
