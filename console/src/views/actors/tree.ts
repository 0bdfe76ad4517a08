// The supervision tree as rows: groups that fold, what needs a look in sight, and the restarts of each node. Pure.

import type { LiveActor } from "../../api/live-types.ts";
import type { ActorEvent, ActorNode } from "../../api/types.ts";

/** A row of the tree. */
export interface TreeRow {
  path: string;
  /** The path with the name of a connector in the place of its id. */
  label: string;
  /** The last part of that. */
  name: string;
  depth: number;
  state: string;
  node: ActorNode | null;
  restarts: number;
  mailbox: number;
  bound: number;
  reason: string | null;
  /** Number of nodes below it. */
  below: number;
  isOpen: boolean;
}

/** Children up to which a group of the first level is open from the start. */
const OPEN_UP_TO = 24;

const CALM = ["running", "stopped"];

/** Returns whether a node needs a look. */
export const needsLook = (state: string): boolean => !CALM.includes(state);

interface Fact {
  node: ActorNode | null;
  live: LiveActor | undefined;
}

/** What is shown of the tree. */
export interface TreeView {
  /** Text that paths have; rows of a search are not folded. */
  search: string;
  onlyTrouble: boolean;
  /** Paths whose fold is the other way than from the start. */
  turned: ReadonlySet<string>;
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Returns a path with the name of its connector in the place of the id; the number of a replacement stays. */
export function labelOf(path: string, connector: string | undefined): string {
  if (connector === undefined) return path;
  const [group, id = "", ...rest] = path.split("/");
  return [group, connector + (/~\d+$/.exec(id)?.[0] ?? ""), ...rest].join("/");
}

/** Returns the part of a label below the parent of its path. */
function nameOf(row: TreeRow, parent: string): string {
  if (parent === "") return row.label;
  const parts = parent.split("/").length;
  return parts === 1 ? row.label.slice(row.label.indexOf("/") + 1) : row.path.slice(parent.length + 1);
}

const stateOf = ({ node, live }: Fact): string => live?.state ?? node?.state ?? "running";

function toRow(path: string, { node, live }: Fact): TreeRow {
  const label = labelOf(path, node?.connector);
  return {
    path,
    label,
    name: label,
    depth: 0,
    state: stateOf({ node, live }),
    node,
    restarts: Math.max(live?.restarts ?? 0, node?.restarts ?? 0),
    mailbox: live?.mailbox_depth ?? node?.mailbox_depth ?? 0,
    bound: live?.mailbox_bound ?? node?.mailbox_bound ?? 0,
    reason: live?.reason ?? node?.quarantine_reason ?? null,
    below: 0,
    isOpen: false,
  };
}

/**
 * Returns the rows of the tree, the figures of the stream over those of the last read. A group with many children is folded,
 * but for its children that need a look.
 */
export function listRows(nodes: readonly ActorNode[], live: ReadonlyMap<string, LiveActor>, view: TreeView): TreeRow[] {
  const facts = new Map<string, Fact>();
  for (const node of nodes) facts.set(node.path, { node, live: live.get(node.path) });
  for (const [path, actor] of live) if (!facts.has(path)) facts.set(path, { node: null, live: actor });
  const search = view.search.toLowerCase();
  if (search !== "" || view.onlyTrouble) {
    const fits = (row: TreeRow) => `${row.path} ${row.label}`.toLowerCase().includes(search) && (!view.onlyTrouble || needsLook(row.state) || row.restarts > 0);
    const found = [...facts].map(([path, fact]) => toRow(path, fact)).filter(fits);
    return found.sort((a, b) => Number(needsLook(b.state)) - Number(needsLook(a.state)) || compare(a.path, b.path));
  }
  const children = new Map<string, string[]>();
  for (const path of facts.keys()) {
    let parent = parentOf(path);
    while (parent !== "" && !facts.has(parent)) parent = parentOf(parent);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [path]);
    else siblings.push(path);
  }
  const shown: TreeRow[] = [];
  // Of a group with thousands of children that is folded, none but those in trouble become rows.
  const visit = (path: string, parent: string, depth: number) => {
    const own = children.get(path) ?? [];
    const row = toRow(path, factOf(path));
    row.name = nameOf(row, parent);
    row.below = own.length;
    row.depth = depth;
    row.isOpen = own.length > 0 && (depth === 0 && own.length <= OPEN_UP_TO) !== view.turned.has(path);
    shown.push(row);
    const seen = row.isOpen ? own : own.filter((child) => needsLook(stateOf(factOf(child))));
    for (const child of seen.sort(compare)) visit(child, path, depth + 1);
  };
  const factOf = (path: string) => facts.get(path) ?? { node: null, live: undefined };
  for (const root of (children.get("") ?? []).sort(compare)) visit(root, "", 0);
  return shown;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A line of the timeline: the events of one node. */
export interface EventLine {
  path: string;
  events: readonly ActorEvent[];
  /** Number of instances that ended. */
  exits: number;
}

/** Events of a node that tell of trouble: those of a start or a regular end alone are not shown. */
export const TROUBLE = ["exited", "restart_scheduled", "quarantined", "escalated"];

/** Returns the events by node, those with the most ends first; a node that only started is left out. */
export function listEvents(history: readonly ActorEvent[], path: string): EventLine[] {
  const lines = new Map<string, ActorEvent[]>();
  for (const event of history) {
    if (path !== "" && event.path !== path && !event.path.startsWith(`${path}/`)) continue;
    lines.set(event.path, [...(lines.get(event.path) ?? []), event]);
  }
  return [...lines]
    .filter(([name, events]) => name === path || events.some((event) => TROUBLE.includes(event.event)))
    .map(([name, events]) => ({ path: name, events, exits: events.filter((event) => event.event === "exited").length }))
    .sort((a, b) => b.exits - a.exits || compare(a.path, b.path));
}

/** Milliseconds that an ordered end may come after its order. */
const LONGEST_ORDER = 30_000;

/** A row of the audit log, as far as it tells of an order. */
interface Order {
  id: string;
  principal: string;
  resource_id: string;
  created_at: string;
}

/** Returns the order of an end: the last one to the actor, or to a group above it, before the end. */
export function orderOf(event: ActorEvent, orders: readonly Order[]): Order | undefined {
  if (event.event !== "exited" || event.exit?.["exit"] !== "ordered") return undefined;
  const at = Date.parse(event.at);
  const fitting = orders.filter(({ resource_id: path, created_at: created }) => {
    const ago = at - Date.parse(created);
    return (event.path === path || event.path.startsWith(`${path}/`)) && ago > -1000 && ago < LONGEST_ORDER;
  });
  return fitting.sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))[0];
}

/** Returns the end of an instance as a sentence, such as `panicked at src/x.rs:7:3 while handling Run: …`. */
export function sayExit(exit: Readonly<Record<string, unknown>> | undefined): string {
  if (exit === undefined) return "";
  const text = (name: string) => (typeof exit[name] === "string" ? exit[name] : "");
  const kind = text("exit").replaceAll("_", " ");
  const place = text("location") === "" ? "" : ` at ${text("location")}`;
  const during = text("handling") === "" ? "" : ` while handling ${text("handling")}`;
  const why = text("message") || text("reason") || text("error");
  return `${kind}${place}${during}${why === "" ? "" : `: ${why}`}`;
}
