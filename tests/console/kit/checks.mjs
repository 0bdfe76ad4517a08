// What holds for every view: accessible, in its bounds, usable by keyboard alone.

import axe from "axe-core";

const RULES = { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };

/** Returns the violations that axe finds, a line each; of some rules only, if they are named. */
export async function findViolations(page, rules) {
  await page.evaluate(`if (window.axe === undefined) { ${axe.source}\n}; 0`);
  const options = rules === undefined ? RULES : { resultTypes: RULES.resultTypes, runOnly: { type: "rule", values: rules } };
  return page.evaluate(async (given) => {
    const { violations } = await window.axe.run(document, given);
    // Controls of writing direction confuse this rule, which compares texts.
    const isConfused = (id, node) => id === "label-content-name-mismatch" && document.querySelector(node.target[0])?.textContent.includes("\u202E");
    return violations.flatMap(({ id, nodes }) =>
      nodes
        .filter((node) => !isConfused(id, node))
        .map((node) => `${id} at ${node.target.join(" ")}: ${node.any.concat(node.all, node.none)[0]?.message ?? node.failureSummary} ${node.html.slice(0, 160)}`),
    );
  }, options);
}

/** Returns what leaves the bounds of the page: a page or a view that scrolls sideways, a control out of sight. */
export function findOverflow(page) {
  return page.evaluate(() => {
    const found = [];
    const name = (element) => `${element.tagName.toLowerCase()}.${[...element.classList].join(".")} "${(element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 40)}"`;
    for (const box of [document.documentElement, document.body, ...document.querySelectorAll("main, .view-head, .view-body, dialog[open]")]) {
      if (box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0) {
        const inner = [...box.querySelectorAll("*")].filter((element) => element.getBoundingClientRect().right > box.getBoundingClientRect().right + 1);
        found.push(`${name(box)} is ${box.scrollWidth} px wide in ${box.clientWidth} px; out of it is ${inner.slice(0, 3).map(name).join(", ")}`);
      }
    }
    // The part of a control that is in sight; what scrolls sideways brings the rest into it.
    const sightOf = (control) => {
      let { left, right } = control.getBoundingClientRect();
      for (let box = control.parentElement; box !== null; box = box.parentElement) {
        const { overflowX } = getComputedStyle(box);
        if (["auto", "scroll"].includes(overflowX) && box.scrollWidth > box.clientWidth) return Infinity;
        if (overflowX === "visible") continue;
        const bounds = box.getBoundingClientRect();
        [left, right] = [Math.max(left, bounds.left), Math.min(right, bounds.right)];
      }
      return Math.min(right, innerWidth) - Math.max(left, 0);
    };
    const SEEN = 16;
    for (const control of document.querySelectorAll("main a[href], main button, main input, main select, main textarea")) {
      const { right, width } = control.getBoundingClientRect();
      const isShown = width > 0 && right > 0 && !control.closest(".hidden-text") && control.checkVisibility({ visibilityProperty: true, opacityProperty: true });
      const sight = sightOf(control);
      if (isShown && sight < Math.min(SEEN, width - 1)) found.push(`${name(control)} is in sight by ${Math.round(sight)} of ${Math.round(width)} px`);
    }
    return found;
  });
}

/** Returns what lies over its neighbour, and texts whose writing direction turns what follows them. */
export function findCollisions(page) {
  return page.evaluate(() => {
    const found = [];
    const name = (element) => `${element.tagName.toLowerCase()}.${[...element.classList].join(".")} "${(element.textContent ?? "").slice(0, 40)}"`;
    const isHidden = (element) => element.closest(".hidden-text, [aria-hidden=true].hidden") !== null;
    // A part of a row that cannot shrink as much as it must: what it holds leaves it.
    for (const item of document.querySelectorAll("main *, nav *, dialog[open] *")) {
      const parent = getComputedStyle(item.parentElement);
      if (!parent.display.includes("flex") || parent.flexDirection.startsWith("column") || item.parentElement.tagName === "svg") continue;
      const { overflowX, position } = getComputedStyle(item);
      if (overflowX !== "visible" || position === "absolute" || isHidden(item) || !item.checkVisibility()) continue;
      const { left, right } = item.getBoundingClientRect();
      for (const leaf of item.querySelectorAll("svg, img, input, button")) {
        const box = leaf.getBoundingClientRect();
        if (box.width > 0 && (box.right > right + 1.5 || box.left < left - 1.5) && !isHidden(leaf)) found.push(`${name(item)} is too narrow for its ${leaf.tagName}`);
      }
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      if (!text.data.includes("\u202E")) continue;
      let box = text.parentElement;
      const isOpen = (element) => getComputedStyle(element).display.startsWith("inline") && getComputedStyle(element).display === "inline" && getComputedStyle(element).unicodeBidi === "normal";
      while (isOpen(box)) box = box.parentElement;
      const range = document.createRange();
      range.setStartAfter(text);
      range.setEndAfter(box.lastChild ?? box);
      const rest = range.cloneContents();
      if (/\S/.test(rest.textContent) && getComputedStyle(box).display !== "flex" && box.checkVisibility()) found.push(`the writing direction of ${name(text.parentElement)} goes on in "${rest.textContent.trim().slice(0, 30)}"`);
    }
    return [...new Set(found)];
  });
}

/** Marks the controls of the page that the Tab key has to reach, and returns their number. */
function markControls() {
  const groups = new Set();
  let count = 0;
  for (const control of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")) {
    if (!control.checkVisibility({ visibilityProperty: true }) || control.disabled || control.closest("[inert]")) continue;
    // A widget such as a menu moves the focus among its parts by the arrow keys.
    if (control.tabIndex < 0) continue;
    if (control.type === "radio") {
      if (groups.has(control.name)) continue;
      groups.add(control.name);
    }
    control.dataset.expected = String(count++);
  }
  return count;
}

/** Returns the control that has the focus, and takes its mark away; null if none has it. */
function takeFocused() {
  const outer = document.activeElement;
  if (outer === null || outer === document.body) return null;
  let element = outer;
  while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const isExpected = "expected" in outer.dataset;
  for (const radio of outer.type === "radio" ? document.getElementsByName(outer.name) : [outer]) delete radio.dataset.expected;
  const shows = (box) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(box);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
  };
  const above = (box) => [box, box.parentElement, box.parentElement?.parentElement];
  const boxes = [...above(element), ...above(outer)].filter(Boolean);
  const name = `${outer.tagName.toLowerCase()} "${(outer.getAttribute("aria-label") ?? outer.textContent).slice(0, 40)}"`;
  // The cursor in an editor shows the focus.
  const isEditor = element.isContentEditable;
  return { name, isExpected, isShown: isEditor || boxes.some(shows), isEditor };
}

/** Goes through the page by the Tab key. Returns the controls that it does not reach, or that do not show the focus. */
export async function findUnreachable(page) {
  // The way begins at the top of the page, wherever the focus was.
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
  });
  const count = await page.evaluate(markControls);
  const found = [];
  const [shown, hidden] = [new Set(), new Set()];
  let [before, wasLost] = ["the top", false];
  for (let step = 0; step < 2 * count + 10; step++) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(takeFocused);
    // The way ends where the focus leaves the page; a focus that comes back to a further control was lost.
    if (wasLost && !seen?.isExpected) break;
    if (wasLost) found.push(`the focus is lost by Tab after ${before}`);
    wasLost = seen === null;
    if (seen === null) continue;
    before = seen.name;
    // A control of several parts shows the focus at one of them.
    // An editor takes Tab for itself unless Escape comes first.
    if (seen.isEditor) await page.keyboard.press("Escape");
    if (seen.isShown) shown.add(seen.name);
    else hidden.add(seen.name);
  }
  found.push(...[...hidden].filter((name) => !shown.has(name)).map((name) => `${name} does not show that it has the focus`));
  const left = await page.evaluate(() =>
    [...document.querySelectorAll("[data-expected]")].map((control) => {
      delete control.dataset.expected;
      return `Tab does not reach ${control.tagName.toLowerCase()} "${(control.getAttribute("aria-label") ?? control.textContent).slice(0, 40)}"`;
    }),
  );
  return [...new Set([...found, ...left])];
}
