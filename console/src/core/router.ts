// The address of the page: the view and all of its state are in the URL.

import { signal } from "@preact/signals";

/** A place of the console: a path below the mount, and the state of the view. */
export interface Place {
  path: string;
  query: URLSearchParams;
}

/** Values of the query that change; null removes one. */
export type QueryChanges = Record<string, string | null | undefined>;

/** Members of the query that links take along, because they hold for all views. */
const KEPT = ["range"];

function readBase(): string {
  const base = document.documentElement.dataset["base"] ?? "";
  return base === "__BASE__" || base === "/" ? "" : base.replace(/\/+$/, "");
}

/** The mount path without a slash at its end. */
export const base = typeof document === "undefined" ? "" : readBase();

function readPlace(): Place {
  const inside = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : location.pathname;
  const path = `/${inside.replace(/^\/+|\/+$/g, "")}`;
  return { path, query: new URLSearchParams(location.search) };
}

/** The present place. */
export const place = signal<Place>(
  typeof location === "undefined" ? { path: "/", query: new URLSearchParams() } : readPlace(),
);

/** Returns the address of a path with a state, for links. */
export function href(path: string, query: QueryChanges = {}): string {
  const search = new URLSearchParams();
  for (const name of KEPT) {
    const value = place.value.query.get(name);
    if (value !== null) search.set(name, value);
  }
  applyChanges(search, query);
  const text = search.toString();
  return `${base}${path === "/" && base !== "" ? "" : path}${text === "" ? "" : `?${text}`}`;
}

function applyChanges(search: URLSearchParams, changes: QueryChanges): void {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") search.delete(name);
    else search.set(name, value);
  }
}

/** Goes to an address of the console that `href` made. */
export function visit(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  place.value = readPlace();
}

/** Goes to a path with a state. */
export function go(path: string, query: QueryChanges = {}): void {
  visit(href(path, query));
}

/** Changes the state of the present view. Typing replaces the entry of the history, choices add one. */
export function setQuery(changes: QueryChanges, options: { replace?: boolean } = {}): void {
  const search = new URLSearchParams(place.value.query);
  applyChanges(search, changes);
  const text = search.toString();
  visit(`${location.pathname}${text === "" ? "" : `?${text}`}`, options);
}

/** Returns a member of the state of the view; components that read it follow its changes. */
export function query(name: string): string {
  return place.value.query.get(name) ?? "";
}

/** Returns the parameters of a path that fits a pattern such as `/runs/:id`, or null. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? "";
    if (part.startsWith(":")) {
      const decoded = decodePart(text);
      if (decoded === null) return null;
      found[part.slice(1)] = decoded;
    } else if (part !== text) return null;
  }
  return found;
}

function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Returns a path with the parameters of a pattern filled in. */
export function fillPath(pattern: string, values: Record<string, string>): string {
  return pattern.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}

/** Follows the history of the browser, and links to places of the console without loading the page anew. */
export function startRouter(): void {
  addEventListener("popstate", () => {
    place.value = readPlace();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.hasAttribute("download")) return;
    const isInside = link.pathname === base || link.pathname.startsWith(`${base}/`);
    if (link.origin !== location.origin || !isInside || link.dataset["external"] !== undefined) return;
    event.preventDefault();
    visit(link.pathname + link.search);
  });
}
