// The views of the console, as its registry has them, so that a new view is tested without a change here.

import { readFileSync } from "node:fs";

const SOURCE = new URL("../../../console/src/views/registry.ts", import.meta.url);

function readViews() {
  const text = readFileSync(SOURCE, "utf8");
  const list = text.match(/export const VIEWS[^=]*=\s*(\[[\s\S]*?\n\]);/)?.[1];
  if (list === undefined) throw new Error(`${SOURCE.pathname}: there is no list VIEWS`);
  // The list is plain JavaScript; what loads a view is never called here.
  return new Function(`return ${list};`)();
}

/** The views: `name`, `path`, `title`, `group`, `key`. */
export const VIEWS = readViews();

/** Returns whether the console has a view. */
export const hasView = (name) => VIEWS.some((view) => view.name === name);

/** Returns the path of a view with its parameters. */
export const fillPath = (view, valueOf) => view.path.replace(/:(\w+)/g, (_, name) => valueOf(name));

/** Returns an expression that the path of a view fits, below a mount path. */
export function pathPattern(base, view) {
  const parts = view.path.split("/").filter(Boolean).map((part) => (part.startsWith(":") ? "[^/?#]+" : part));
  return new RegExp(`^${[base, ...parts].join("/")}/?$`);
}
