// The page while two hundred runs end a second: its tasks, and script and layout of its frames, by the trace of Chromium.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPage, settle, startBrowser } from "../kit/browser.mjs";
import { openBusySite } from "./events.mjs";
import { quantile } from "./report.mjs";
import { CHANNELS } from "./seed.mjs";
import { readTrace } from "./trace.mjs";

const SECONDS = Math.min(20, Number(process.env.SVC_SPEED_SECS ?? 60));
const RATE = 200;
const MOST_TASK_MS = 50;
const MOST_FRAME_MS = 8;
const CATEGORIES = [
  "-*", "toplevel", "v8", "devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline",
  "disabled-by-default-devtools.timeline.frame",
];
/** The views that follow the stream. */
const PATHS = { now: "/", runs: "/runs", actors: "/actors", channels: "/channels" };

/** Lets time pass in which the page is traced. */
const pass = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Sends requests to the channels at a fixed rate. Returns the function that ends that. */
function sendMessages(server) {
  let number = 0;
  const begun = Date.now();
  const timer = setInterval(() => {
    for (; number < ((Date.now() - begun) / 1000) * RATE; number++) {
      // A tenth of the channels fails, which is what is measured too.
      void server.send("POST", `/api/v1/data/shop/${(number * 13) % CHANNELS}`, { n: number }).catch(() => undefined);
    }
  }, 5);
  return () => clearInterval(timer);
}

async function trace(browser, site, name, path, report) {
  const { page, close } = await openPage(browser, site, { path });
  try {
    await page.getByRole("navigation").getByRole("status").filter({ hasText: "Live" }).waitFor();
    await settle(page);
    // The code of the other views is loaded a moment after the first one.
    await pass(3);
    await browser.startTracing(page, { categories: CATEGORIES });
    await pass(SECONDS);
    const text = (await browser.stopTracing()).toString();
    if (process.env.SVC_SPEED_TRACE) {
      mkdirSync(process.env.SVC_SPEED_TRACE, { recursive: true });
      writeFileSync(join(process.env.SVC_SPEED_TRACE, `${name.replaceAll(/\W+/g, "-")}.json`), text);
    }
    const { tasks, frames } = readTrace(text);
    // A view of which nothing changes needs no frame, but the first one always changes.
    if (tasks.length === 0 || (path === PATHS.now && frames.length === 0)) throw new Error(`the trace of ${name} has ${tasks.length} tasks and ${frames.length} frames`);
    if (frames.length === 0) frames.push({ ms: 0, own: 0 });
    const [wall, own] = ["ms", "own"].map((kind) => [Math.max(...tasks.map((task) => task[kind])), quantile(frames.map((frame) => frame[kind]), 0.95)]);
    report.note(`${name}: ${frames.length} frames in ${SECONDS} s; of the processor: longest task ${own[0].toFixed(1)} ms, frame p95 ${own[1].toFixed(1)} ms`);
    report.add(`${name}: longest task`, wall[0], MOST_TASK_MS, " ms");
    report.add(`${name}: script and layout of a frame, p95`, wall[1], MOST_FRAME_MS, " ms");
  } finally {
    await close();
  }
}

/** Measures the frames, by events of a stream and by messages of a service. */
export async function measureFrames({ server, site, report }) {
  report.begin(`Two hundred events a second, ${SECONDS} s for each view`);
  const browser = await startBrowser();
  const busy = await openBusySite(server, site);
  try {
    for (const [name, path] of Object.entries(PATHS)) await trace(browser, busy, `${name}, an event for each run`, path, report);
    const stop = sendMessages(server);
    try {
      for (const [name, path] of Object.entries(PATHS)) await trace(browser, site, `${name}, messages of the service`, path, report);
    } finally {
      stop();
    }
  } finally {
    busy.stop();
    await browser.close();
  }
}
