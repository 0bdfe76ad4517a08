// Differences between two JSON values, as lines.

/** A line of a comparison. */
export interface DiffLine {
  kind: "same" | "removed" | "added" | "gap";
  text: string;
  /** Number of lines that a gap hides. */
  hidden?: number;
}

/** Largest product of line counts that is compared line by line; beyond it the middle is one block. */
const MAX_CELLS = 4_000_000;

/** Returns a value as indented JSON with its keys in order, so that equal values have equal texts. */
export function stableJson(value: unknown): string {
  return JSON.stringify(sortKeys(value), null, 2) ?? "";
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([name, member]) => [name, sortKeys(member)]));
}

/** Compares two texts line by line. */
export function diffTexts(before: string, after: string): DiffLine[] {
  const [old, fresh] = [before === "" ? [] : before.split("\n"), after === "" ? [] : after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  const lines: DiffLine[] = old.slice(0, start).map((text) => ({ kind: "same", text }));
  lines.push(...diffMiddle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)));
  lines.push(...old.slice(old.length - end).map((text): DiffLine => ({ kind: "same", text })));
  return lines;
}

function diffMiddle(old: string[], fresh: string[]): DiffLine[] {
  const removed = old.map((text): DiffLine => ({ kind: "removed", text }));
  const added = fresh.map((text): DiffLine => ({ kind: "added", text }));
  if (old.length * fresh.length === 0 || old.length * fresh.length > MAX_CELLS) return [...removed, ...added];
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      const [below, right] = [common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0];
      const both = (common[(i + 1) * width + j + 1] ?? 0) + 1;
      common[i * width + j] = old[i] === fresh[j] ? both : Math.max(below, right);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ kind: "same", text: old[i] ?? "" });
      [i, j] = [i + 1, j + 1];
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) {
      lines.push(removed[i++] as DiffLine);
    } else {
      lines.push(added[j++] as DiffLine);
    }
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

/** Replaces long runs of equal lines by gaps, with `context` lines around each change. */
export function foldSame(lines: readonly DiffLine[], context = 3): DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  for (const [index, line] of lines.entries()) {
    if (line.kind !== "same") isNear.fill(1, Math.max(0, index - context), index + context + 1);
  }
  const folded: DiffLine[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear[index] === 1) folded.push(line);
    else if (folded.at(-1)?.kind === "gap") (folded.at(-1) as DiffLine).hidden = (folded.at(-1)?.hidden ?? 0) + 1;
    else folded.push({ kind: "gap", text: "", hidden: 1 });
  }
  return folded;
}
