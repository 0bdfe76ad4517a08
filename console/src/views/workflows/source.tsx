// The source of a workflow; the chosen task is marked and in sight.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { nodeAt, type PathPart, readPlaces } from "../../core/definitions/places.ts";
import { texts } from "../../texts.ts";

/** Returns a text in three parts: before, at and behind a path. */
export function splitAt(text: string, path: readonly PathPart[] | null): readonly [string, string, string] {
  const node = path === null ? null : nodeAt(readPlaces(text), path);
  if (node === null) return [text, "", ""];
  const from = text.lastIndexOf("\n", node.from) + 1;
  const lead = text.slice(from, node.from).trim() === "" ? from : node.from;
  return [text.slice(0, lead), text.slice(lead, node.to), text.slice(node.to)];
}

/** The source beside the graph. */
export function Source({ text, path }: { text: string; path: readonly PathPart[] | null }) {
  const mark = useRef<HTMLElement>(null);
  const box = useRef<HTMLPreElement>(null);
  const [before, chosen, behind] = useMemo(() => splitAt(text, path), [text, path?.join(" ")]);
  useEffect(() => {
    if (mark.current !== null && box.current !== null && chosen !== "") box.current.scrollTop = Math.max(0, mark.current.offsetTop - 60);
  }, [chosen]);
  return (
    <pre class="workflow-source" ref={box} tabIndex={0} aria-label={texts.workflows.source} role="group">
      {before}
      <mark ref={mark}>{chosen}</mark>
      {behind}
    </pre>
  );
}
