// The stream of a service in which two hundred runs end a second, an event for each: a server in front of the page.

import { createServer, request } from "node:http";
import { once } from "node:events";
import { KEYS } from "../kit/server.mjs";
import { channelName, CHANNELS } from "./seed.mjs";

/** Milliseconds between two events. */
const PERIOD = 5;
/** Channels with messages in an event. */
const BUSY = 20;
const LIVE = "/api/v1/admin/live";

function forward(to, incoming, outgoing) {
  const url = new URL(incoming.url, to);
  const passed = request(url, { method: incoming.method, headers: { ...incoming.headers, host: url.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  passed.on("error", () => outgoing.destroy());
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
}

/** Makes the changes that a picture is followed by. */
function changesOf(picture, number) {
  const busy = Array.from({ length: BUSY }, (_, index) => channelName((number * 7 + index * 31) % CHANNELS));
  const rates = { requests: 10 + (number % 7), errors: number % 3, refused: 0, p99_ms: 4 + (number % 11) };
  const failed = number % 10 === 0;
  const run = {
    id: `run-${number}`, ended_at: new Date().toISOString(), channel: busy[0], mode: "sync", workflow: "works", version: 1,
    status: failed ? "failed" : "completed", error_code: failed ? "E1" : null, took_ms: 1.5,
  };
  return {
    at: new Date().toISOString(), traffic: { ...rates, requests: 200 + (number % 20), p50_ms: 1.2 },
    channels: busy.map((channel) => ({ channel, ...rates })), channels_left_out: 0,
    tree: { totals: picture.tree.totals, changed: [], gone: [], left_out: picture.tree.left_out },
    counts: { ...picture.counts, queue_depth: number % 50 }, runs: [run], runs_left_out: 0,
  };
}

async function stream(server, outgoing) {
  const answer = await fetch(`${server.url}${LIVE}?once=true&history=hour,day`, { headers: { authorization: `Bearer ${KEYS.full}` } });
  const text = await answer.text();
  const picture = JSON.parse(text.match(/event: ?picture\n[^]*?data: ?(.*)\n/)[1]);
  outgoing.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  outgoing.write(`id: speed-0\nevent: picture\ndata: ${JSON.stringify(picture)}\n\n`);
  let number = 0;
  const begun = Date.now();
  const timer = setInterval(() => {
    // A timer that was late sends what is due.
    for (; number < (Date.now() - begun) / PERIOD; number++) {
      outgoing.write(`id: speed-${number + 1}\nevent: changes\ndata: ${JSON.stringify(changesOf(picture, number))}\n\n`);
    }
  }, PERIOD);
  outgoing.on("close", () => clearInterval(timer));
}

/** Starts the server. Returns the address of the page, as `openSite` does. */
export async function openBusySite(server, site) {
  const front = createServer((incoming, outgoing) => {
    if (incoming.url.startsWith(LIVE)) void stream(server, outgoing).catch((thrown) => outgoing.destroy(thrown));
    else forward(site.origin, incoming, outgoing);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  const stop = () => {
    front.closeAllConnections();
    front.close();
  };
  return { origin: `http://127.0.0.1:${front.address().port}`, base: site.base, stop };
}
