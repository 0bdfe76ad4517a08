// The supervision tree as rows: groups that fold, what needs a look in sight, and the restarts of each node. Pure.

import type { LiveActor } from "../../api/live-types.ts";
import type { ActorEvent, ActorNode } from "../../api/types.ts";

/** A row of the tree. */
export interface TreeRow {
  path: string;
  /** The last part of the path. */
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

function toRow(path: string, { node, live }: Fact): TreeRow {
  const parent = parentOf(path);
  return {
    path,
    name: parent === "" ? path : path.slice(parent.length + 1),
    depth: 0,
    state: live?.state ?? node?.state ?? "running",
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
  const rows = new Map<string, TreeRow>();
  for (const node of nodes) rows.set(node.path, toRow(node.path, { node, live: live.get(node.path) }));
  for (const [path, actor] of live) if (!rows.has(path)) rows.set(path, toRow(path, { node: null, live: actor }));
  const children = new Map<string, TreeRow[]>();
  for (const row of rows.values()) {
    let parent = parentOf(row.path);
    while (parent !== "" && !rows.has(parent)) parent = parentOf(parent);
    if (parent === "") row.name = row.path;
    else row.name = row.path.slice(parent.length + 1);
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const search = view.search.toLowerCase();
  const isFlat = search !== "" || view.onlyTrouble;
  const fits = (row: TreeRow) => row.path.toLowerCase().includes(search) && (!view.onlyTrouble || needsLook(row.state) || row.restarts > 0);
  if (isFlat) {
    const found = [...rows.values()].filter(fits).map((row) => ({ ...row, name: row.path }));
    return found.sort((a, b) => Number(needsLook(b.state)) - Number(needsLook(a.state)) || compare(a.path, b.path));
  }
  const shown: TreeRow[] = [];
  const visit = (row: TreeRow, depth: number) => {
    const own = (children.get(row.path) ?? []).sort((a, b) => compare(a.path, b.path));
    row.below = own.length;
    row.depth = depth;
    row.isOpen = own.length > 0 && (depth === 0 && own.length <= OPEN_UP_TO) !== view.turned.has(row.path);
    shown.push(row);
    for (const child of own) if (row.isOpen || needsLook(child.state)) visit(child, depth + 1);
  };
  for (const root of (children.get("") ?? []).sort((a, b) => compare(a.path, b.path))) visit(root, 0);
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
