// Measures the console beside its aims.

import { openSite } from "../kit/site.mjs";
import { Server } from "../kit/server.mjs";
import { measureFirstView } from "./first-view.mjs";
import { measureFrames } from "./frames.mjs";
import { Report } from "./report.mjs";
import { fillWithMany } from "./seed.mjs";
import { measureStreams } from "./streams.mjs";

const PARTS = { "first-view": measureFirstView, frames: measureFrames, streams: measureStreams };

const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`there is no part ${unknown.join(", ")}; the parts are ${Object.keys(PARTS).join(", ")}`);
  process.exit(2);
}

const report = new Report();
const server = await Server.start({ toml: ["[server.console]", "enabled = true"] });
const site = await openSite(server);
try {
  await fillWithMany(server);
  for (const [name, measure] of Object.entries(PARTS)) {
    if (named.length > 0 && !named.includes(name)) continue;
    await measure({ server, site, report });
  }
} finally {
  site.stop();
  await server.remove();
}
process.exitCode = report.end() ? 0 : 1;
