// Definitions as authors write them: without what the service adds, and complete where an update would keep old values.

import { type PathPart, type PlaceNode, placeOfField } from "./places.ts";

/** The kinds of definitions that are edited. */
export type Kind = "channel" | "workflow";

/** A finding of the service. */
export interface Issue {
  field: string;
  message: string;
  code?: string;
}

/** A finding with its place. */
export interface PlacedIssue extends Issue {
  severity: "error" | "warning";
  /** Its line, from 1; null if the text has no such place. */
  line: number | null;
  from: number;
  to: number;
}

/** The members of a definition in the order of the manual, with the values that stand for their absence. */
const MEMBERS: Record<Kind, readonly (readonly [string, unknown])[]> = {
  channel: [
    ["channel_id", undefined], ["name", undefined], ["description", null], ["channel_type", "async"], ["protocol", undefined],
    ["methods", null], ["route_pattern", null], ["topic", null], ["consumer_group", null], ["workflow_id", null],
    ["transport_config", {}], ["config", {}], ["priority", 0], ["tags", []],
  ],
  workflow: [
    ["workflow_id", undefined], ["name", undefined], ["description", null], ["condition", true], ["continue_on_error", false],
    ["loop", null], ["tasks", undefined], ["priority", 0], ["tags", []],
  ],
};

/** Members that cannot be changed once a definition is there. */
const FIXED: Record<Kind, readonly string[]> = { channel: ["channel_id", "channel_type", "protocol"], workflow: ["workflow_id"] };

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the document of a definition: members that have their default are left out. */
export function documentOf(kind: Kind, definition: object): Record<string, unknown> {
  const row = definition as Record<string, unknown>;
  const shown = MEMBERS[kind].filter(([name, absent]) => {
    if (name === "channel_type") return row[name] !== undefined;
    return row[name] !== undefined && !isEqual(row[name], absent) && !(row[name] === null && absent !== undefined);
  });
  return Object.fromEntries(shown.map(([name]) => [name, row[name]]));
}

/** Characters that turn the direction of a line, by which a text can look like another one. */
const TURNING = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns the text of a definition; characters that turn its direction are escaped. */
export const textOf = (kind: Kind, definition: object): string => textOfJson(documentOf(kind, definition));

/** A version of a plugin, as far as it has a text. */
interface PluginVersion {
  manifest: object;
  digest: string;
  signed: boolean;
}

/** Returns the text of a version of a plugin: its component is shown by its digest. */
export const pluginText = ({ manifest, digest, signed }: PluginVersion): string => textOfJson({ manifest, component: digest, signed });

/** Returns a text that differs where versions of a plugin do. */
export const pluginHash = ({ manifest, digest }: PluginVersion): string => `${digest} ${JSON.stringify(manifest)}`;

function textOfJson(value: object): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(TURNING, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`)}\n`;
}

/** Returns the body of an update that makes the draft equal to a document: what it lacks gets its default. */
export function updateOf(kind: Kind, document: Record<string, unknown>): Record<string, unknown> {
  const complete: Record<string, unknown> = { ...document };
  for (const [name, absent] of MEMBERS[kind]) {
    if (!(name in document) && absent !== undefined && name !== "channel_type") complete[name] = absent;
  }
  for (const name of FIXED[kind]) delete complete[name];
  return complete;
}

/** Returns the fixed members that a document changes. */
export function changedFixed(kind: Kind, document: Record<string, unknown>, stored: object): string[] {
  const row = stored as Record<string, unknown>;
  return FIXED[kind].filter((name) => name in document && document[name] !== row[name]);
}

/** Returns the text with which a new definition begins. */
export function startOf(kind: Kind): string {
  const documents: Record<Kind, object> = {
    workflow: {
      workflow_id: "my-workflow",
      name: "My workflow",
      tasks: [
        { id: "read", name: "Read the request", function: { name: "parse_json", input: { source: "payload", target: "input" } } },
        { id: "answer", name: "Answer", function: { name: "map", input: { mappings: [{ path: "data.ok", logic: true }] } } },
      ],
    },
    channel: {
      channel_id: "my-channel",
      name: "my-channel",
      channel_type: "sync",
      protocol: "rest",
      methods: ["POST"],
      route_pattern: "/my-channel",
      workflow_id: "my-workflow",
      config: {},
    },
  };
  return `${JSON.stringify(documents[kind], null, 2)}\n`;
}

/** The object of a text, or the reason for which it is none. */
export function parseDocument(text: string): { document: Record<string, unknown> } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { document: value as Record<string, unknown> };
    return { problem: "" };
  } catch (thrown) {
    return { problem: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** Returns findings with their places, those of the first lines first. */
export function placeIssues(text: string, root: PlaceNode | null, issues: { errors: readonly Issue[]; warnings: readonly Issue[] }): PlacedIssue[] {
  const prefixes = ["workflow", "channel", "body"];
  const place = (severity: PlacedIssue["severity"]) => (issue: Issue): PlacedIssue => {
    const found = placeOfField(root, issue.field, prefixes, issue.code === "UNKNOWN_FIELD");
    const line = found === null ? null : text.slice(0, found.from).split("\n").length;
    return { ...issue, severity, line, from: found?.from ?? 0, to: found?.to ?? 0 };
  };
  const placed = [...issues.errors.map(place("error")), ...issues.warnings.map(place("warning"))];
  return placed.sort((a, b) => a.from - b.from);
}

/** Returns what an editor marks. */
export function markOf(issues: readonly PlacedIssue[]): { from: number; to: number; severity: PlacedIssue["severity"]; message: string }[] {
  return issues.map(({ from, to, severity, message }) => ({ from, to: Math.max(to, from + 1), severity, message }));
}

/** Returns whether a path names a definition of another kind, by which its values are completed. */
export function namedKind(path: readonly PathPart[]): "channels" | "workflows" | "connectors" | null {
  const last = path.at(-1);
  const named = { connector: "connectors", channel: "channels", on_failure: "channels", workflow_id: "workflows" } as const;
  return typeof last === "string" && last in named && path.length > (last === "workflow_id" ? 0 : 1) ? named[last as keyof typeof named] : null;
}
