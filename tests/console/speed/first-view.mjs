// The first view: its calls, the time that the service takes for them, and the time until everything is drawn.

import { openPage, startBrowser } from "../kit/browser.mjs";
import { KEYS } from "../kit/server.mjs";
import { quantile } from "./report.mjs";

const VIEWS = Number(process.env.SVC_SPEED_VIEWS ?? 20);
const MOST_CALLS = 6;
const MOST_SERVICE_MS = 100;
const MOST_MS = 500;

const isCall = (url) => /\/(api\/v1|health)/.test(new URL(url).pathname);

// Runs in the page before anything of it: notes the frame after which figures, causes and charts are seen.
function watchDrawing() {
  const isDrawn = () => {
    const figures = [...document.querySelectorAll(".figures .value")];
    const hasFigures = figures.length > 0 && (figures[0].textContent ?? "–") !== "–";
    if (hasFigures) window.figuresAt ??= performance.now();
    return hasFigures && document.querySelector(".skeleton, [aria-busy=true]") === null && document.querySelectorAll(".chart-plot canvas").length >= 2;
  };
  const look = () => {
    if (isDrawn()) requestAnimationFrame(() => setTimeout(() => (window.drawnAt = performance.now())));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Opens the page as a browser that has never seen it, and returns the milliseconds until it is drawn, and its calls. */
async function view(browser, site) {
  const { page, context, watch, close } = await openPage(browser, site, { path: null });
  await context.addInitScript(watchDrawing);
  await page.goto(`${site.origin}${site.base}/`);
  await page.waitForFunction(() => window.drawnAt !== undefined);
  const times = await page.evaluate(() => ({ figures: window.figuresAt, all: window.drawnAt }));
  const calls = watch.requests.map((request) => request.url()).filter(isCall);
  await close();
  return { ...times, calls };
}

/** Makes a call of the page to the service itself, and returns the milliseconds until its answer, of a stream the first event. */
async function timeCall(server, address) {
  const { pathname, search } = new URL(address);
  const reading = new AbortController();
  const begun = performance.now();
  const answer = await fetch(server.url + pathname + search, { headers: { authorization: `Bearer ${KEYS.full}` }, signal: reading.signal });
  if (!answer.ok) throw new Error(`${pathname} answered ${answer.status}`);
  if (pathname.endsWith("/live")) {
    await answer.body.getReader().read();
    reading.abort();
  } else await answer.arrayBuffer();
  return performance.now() - begun;
}

/** Measures the first view. */
export async function measureFirstView({ server, site, report }) {
  report.begin("First view");
  const browser = await startBrowser();
  const views = [];
  try {
    // The first of all warms the caches of the system.
    await view(browser, site);
    for (let round = 0; round < VIEWS; round++) views.push(await view(browser, site));
  } finally {
    await browser.close();
  }
  const calls = [...new Set(views.flatMap((one) => one.calls.map((url) => new URL(url).pathname + new URL(url).search)))];
  let together = 0;
  for (const path of calls) {
    const times = [];
    for (let round = 0; round < VIEWS; round++) times.push(await timeCall(server, site.origin + path));
    together += quantile(times, 0.5);
    report.note(`${path}: ${quantile(times, 0.5).toFixed(1)} ms, at most ${Math.max(...times).toFixed(1)} ms`);
  }
  const median = (name) => quantile(views.map((one) => one[name]), 0.5);
  report.note(`figures drawn, median: ${median("figures").toFixed(0)} ms`);
  report.add("calls", Math.max(...views.map((one) => one.calls.length)), MOST_CALLS);
  report.add("time of the service for them together, medians", together, MOST_SERVICE_MS, " ms");
  report.add(`from navigation to figures, causes and charts, median of ${VIEWS}`, median("all"), MOST_MS, " ms");
  report.note(`from navigation, the slowest: ${Math.max(...views.map((one) => one.all)).toFixed(0)} ms`);
}
