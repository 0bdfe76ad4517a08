// What a file of cases shares: a server that holds much, the page of it, and the browser.

import { after, before } from "node:test";
import { openPage, startBrowser } from "./browser.mjs";
import { fill } from "./seed.mjs";
import { Server } from "./server.mjs";
import { openSite } from "./site.mjs";
import { startUpstream } from "./upstream.mjs";

/** Sets up the world of a file, and takes it down at its end. */
export function useWorld({ isFilled = true, ...settings } = {}) {
  const world = { samples: {} };
  before(async () => {
    world.server = await Server.start(settings);
    world.upstream = await startUpstream();
    if (isFilled) world.samples = await fill(world.server, world.upstream);
    world.isLive = (await world.server.send("HEAD", "/api/v1/admin/live")).status !== 404;
    world.site = await openSite(world.server);
    world.browser = await startBrowser();
    world.open = (options) => openPage(world.browser, world.site, { isLive: world.isLive, ...options });
  });
  after(async () => {
    await world.browser?.close();
    world.site?.stop();
    world.upstream?.stop();
    await world.server?.remove();
  });
  return world;
}
