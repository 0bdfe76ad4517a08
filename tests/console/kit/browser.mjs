// Chromium, and pages whose every error, breach of the policy and request is noted.

import { chromium } from "playwright-core";
import { KEYS } from "./server.mjs";

const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];

/** The page at its common sizes. */
export const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };

/** Starts the browser, with more arguments. */
export function startBrowser(more = []) {
  return chromium.launch({ executablePath: process.env.SVC_CHROMIUM, headless: true, args: [...ARGUMENTS, ...more] });
}

// Runs in the page before anything of it.
function watchPage() {
  window.violations = [];
  const note = (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""}:${event.lineNumber} ${event.sample}`);
  document.addEventListener("securitypolicyviolation", note);
}

/** What happened on a page. */
class Watch {
  errors = [];
  requests = [];

  constructor(page, origin, isLive) {
    this.page = page;
    page.on("console", (message) => {
      const { url } = message.location();
      // The browser reports what the service does not have, of which the page makes nothing.
      const isAbsent = message.text().includes("404") && !isLive;
      if (message.type() !== "error" || isAbsent) return;
      this.errors.push(`${message.text()} (${url})`);
    });
    page.on("pageerror", (error) => this.errors.push(`uncaught: ${error.stack ?? error.message}`));
    page.on("dialog", (dialog) => {
      this.errors.push(`a dialog of the browser: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      this.requests.push(request);
      if (!request.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(request.url())) this.errors.push(`a request to the outside: ${request.url()}`);
    });
  }

  /** Returns everything that must not happen, and forgets it. */
  async faults() {
    const { violations, executed } = await this.page.evaluate(() => {
      const seen = { violations: window.violations, executed: window.executed !== undefined };
      window.violations = [];
      return seen;
    });
    const faults = [...this.errors, ...violations.map((violation) => `breach of the policy: ${violation}`)];
    if (executed) faults.push("a hostile text was executed");
    this.errors = [];
    return faults;
  }
}

/** Opens a page in a context of its own. With a key it is signed in; `path` is below the mount. */
export async function openPage(browser, site, { key = KEYS.full, path = "/", size = "wide", scheme = "light", isLive = true, options = {} } = {}) {
  const context = await browser.newContext({
    viewport: SIZES[size], colorScheme: scheme, locale: "en-GB", timezoneId: "Europe/Berlin", reducedMotion: "reduce", ...options,
  });
  context.setDefaultTimeout(30_000);
  await context.addInitScript(watchPage);
  if (key !== null) await context.addInitScript((text) => sessionStorage.setItem("svc-console.key", text), key);
  const page = await context.newPage();
  const watch = new Watch(page, site.origin, isLive);
  const visit = async (to) => {
    await page.goto(site.origin + site.base + to);
    await settle(page);
  };
  if (path !== null) await visit(path);
  return { context, page, watch, visit, close: () => context.close() };
}

/** Presses the keys of a sequence: the second is on its way with the first, so that a slow page counts them as one. */
export async function pressSequence(page, first, second) {
  await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
}

/** Waits until a view is shown and nothing that it reads at first is under way. */
export async function settle(page) {
  await page.locator("[data-view-title], .sign-in, .empty").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".skeleton, [aria-busy=true]") === null);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
}
