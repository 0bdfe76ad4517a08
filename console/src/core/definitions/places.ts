// Places of values in a JSON text, also in one that is being typed and not valid yet.

/** A value of a text with the places of its first and last character. */
export interface PlaceNode {
  kind: "object" | "array" | "scalar";
  from: number;
  to: number;
  members: readonly PlaceMember[];
  items: readonly PlaceNode[];
  /** The value of a scalar; undefined for one that is no JSON. */
  value?: unknown;
}

/** A member of an object. */
export interface PlaceMember {
  key: string;
  keyFrom: number;
  keyTo: number;
  value: PlaceNode | null;
}

/** A part of a path: the name of a member or the number of an item. */
export type PathPart = string | number;

/** The place of the cursor in a text. */
export interface Cursor {
  /** The path of the object whose name, or of the value whose text, is written. */
  path: readonly PathPart[];
  /** Whether a name of a member is written. */
  isName: boolean;
  /** The range of the word under the cursor. */
  from: number;
  to: number;
  /** Names that the object has already. */
  taken: readonly string[];
  /** Whether a value follows the name, so that none has to be added. */
  hasValue: boolean;
}

/** Deeper values are read as one scalar. */
const DEEPEST = 100;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  root(): PlaceNode | null {
    return this.value(0);
  }

  private skipBlanks(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at++;
  }

  private value(depth: number): PlaceNode | null {
    this.skipBlanks();
    const sign = this.text[this.at];
    if (sign === undefined || sign === "}" || sign === "]" || sign === "," || sign === ":") return null;
    if (depth < DEEPEST && sign === "{") return this.object(depth);
    if (depth < DEEPEST && sign === "[") return this.array(depth);
    return sign === '"' ? this.string() : this.word();
  }

  private object(depth: number): PlaceNode {
    const from = this.at++;
    const members: PlaceMember[] = [];
    for (;;) {
      this.skipBlanks();
      const sign = this.text[this.at];
      if (sign === undefined || sign === "]") break;
      if (sign === "}") {
        this.at++;
        break;
      }
      if (sign === "," || sign === ":") this.at++;
      else members.push(this.member(depth));
    }
    return { kind: "object", from, to: this.at, members, items: [] };
  }

  private member(depth: number): PlaceMember {
    const name = this.text[this.at] === '"' ? this.string() : this.word();
    this.skipBlanks();
    let value: PlaceNode | null = null;
    if (this.text[this.at] === ":") {
      this.at++;
      value = this.value(depth + 1);
    }
    return { key: String(name.value ?? ""), keyFrom: name.from, keyTo: name.to, value };
  }

  private array(depth: number): PlaceNode {
    const from = this.at++;
    const items: PlaceNode[] = [];
    for (;;) {
      this.skipBlanks();
      const sign = this.text[this.at];
      if (sign === undefined || sign === "}") break;
      if (sign === "]") {
        this.at++;
        break;
      }
      const item = this.value(depth + 1);
      if (item === null) this.at++;
      else items.push(item);
    }
    return { kind: "array", from, to: this.at, members: [], items };
  }

  private string(): PlaceNode {
    const from = this.at++;
    while (this.at < this.text.length && this.text[this.at] !== '"' && this.text[this.at] !== "\n") this.at += this.text[this.at] === "\\" ? 2 : 1;
    if (this.text[this.at] === '"') this.at++;
    this.at = Math.min(this.at, this.text.length);
    const raw = this.text.slice(from, this.at);
    return scalar(from, this.at, parseOr(raw, raw.replace(/^"|"$/g, "")));
  }

  private word(): PlaceNode {
    const from = this.at++;
    while (this.at < this.text.length && !/[\s{}[\],:"]/.test(this.text[this.at] ?? "")) this.at++;
    const raw = this.text.slice(from, this.at);
    return scalar(from, this.at, parseOr(raw, raw));
  }
}

const scalar = (from: number, to: number, value: unknown): PlaceNode => ({ kind: "scalar", from, to, members: [], items: [], value });

function parseOr(raw: string, other: unknown): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return other;
  }
}

/** Reads the places of a text; null if it is empty. */
export function readPlaces(text: string): PlaceNode | null {
  return new Reader(text).root();
}

/** Returns the value of a place, without what is not typed yet. */
export function valueOf(node: PlaceNode | null): unknown {
  if (node === null) return undefined;
  if (node.kind === "scalar") return node.value;
  if (node.kind === "array") return node.items.map(valueOf);
  return Object.fromEntries(node.members.map((member) => [member.key, valueOf(member.value)]));
}

/** Returns the place of the cursor; null outside of every object and array. */
export function cursorAt(root: PlaceNode | null, place: number): Cursor | null {
  const path: PathPart[] = [];
  let node = root;
  while (node !== null) {
    if (node.kind === "array") {
      const index = node.items.findIndex((item) => item.from <= place && place <= item.to);
      const item = node.items[index];
      if (item === undefined) return { path: [...path, node.items.length], isName: false, from: place, to: place, taken: [], hasValue: false };
      path.push(index);
      node = item;
      continue;
    }
    if (node.kind === "scalar") return { path, isName: false, from: node.from, to: node.to, taken: [], hasValue: false };
    const taken = node.members.map((member) => member.key);
    const named = node.members.find((member) => member.keyFrom <= place && place <= member.keyTo);
    if (named !== undefined) {
      const others = taken.filter((key) => key !== named.key);
      return { path, isName: true, from: named.keyFrom, to: named.keyTo, taken: others, hasValue: named.value !== null };
    }
    const before = node.members.findLast((member) => member.keyTo < place);
    if (before !== undefined && before.value === null) return { path: [...path, before.key], isName: false, from: place, to: place, taken: [], hasValue: false };
    if (before?.value && place <= before.value.to) {
      path.push(before.key);
      if (place < before.value.from) return { path, isName: false, from: place, to: place, taken: [], hasValue: true };
      node = before.value;
      continue;
    }
    return { path, isName: true, from: place, to: place, taken, hasValue: false };
  }
  return null;
}

/** A place that a message of the service names, as far as the text has it. */
export interface NamedPlace {
  from: number;
  to: number;
}

/**
 * Returns the place of a field such as `workflow.tasks[1].function.name`; the nearest one if the text lacks it. It is that
 * of its value if that is short, or of its name with `isName`.
 */
export function placeOfField(root: PlaceNode | null, field: string, prefixes: readonly string[], isName = false): NamedPlace | null {
  if (root === null) return null;
  let rest = field === "(root)" ? "" : field;
  const prefix = prefixes.find((word) => rest === word || rest.startsWith(`${word}.`) || rest.startsWith(`${word}[`));
  if (prefix !== undefined && !root.members.some((member) => member.key === prefix)) rest = rest.slice(prefix.length);
  let found: NamedPlace = { from: root.from, to: Math.min(root.to, root.from + 1) };
  let node: PlaceNode | null = root;
  while (node !== null && rest !== "") {
    const index: RegExpExecArray | null = /^\[(\d+)\]/.exec(rest) ?? (node.kind === "array" ? /^\.?(\d+)(?=[.[]|$)/.exec(rest) : null);
    if (index !== null) {
      const item: PlaceNode | undefined = node.items[Number(index[1])];
      if (item === undefined) break;
      rest = rest.slice(index[0].length);
      found = item.kind === "scalar" ? { from: item.from, to: item.to } : { from: item.from, to: item.from + 1 };
      node = item;
      continue;
    }
    const name: string = rest.replace(/^\./, "");
    const fits = (member: PlaceMember) => name === member.key || name.startsWith(`${member.key}.`) || name.startsWith(`${member.key}[`);
    const member: PlaceMember | undefined = node.members.filter(fits).sort((a, b) => b.key.length - a.key.length)[0];
    if (member === undefined) break;
    rest = name.slice(member.key.length);
    found = { from: member.keyFrom, to: member.keyTo };
    if (!isName && rest === "" && member.value?.kind === "scalar") found = { from: member.value.from, to: member.value.to };
    node = member.value;
  }
  return found;
}

/** Returns the place of a path, or null if the text does not have it. */
export function nodeAt(root: PlaceNode | null, path: readonly PathPart[]): PlaceNode | null {
  let node = root;
  for (const part of path) {
    if (node === null) return null;
    node = (typeof part === "number" ? node.items[part] : node.members.findLast((member) => member.key === part)?.value) ?? null;
  }
  return node;
}
