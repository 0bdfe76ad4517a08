// The node that a view is of.

import { liveNode } from "../core/live-store.ts";
import { texts } from "../texts.ts";

/** The id of the node that answers, as the list of nodes has it; the hint has the name of its instance. */
export function NodeNote({ text = texts.now.ofNode }: { text?: (node: string) => string }) {
  const node = liveNode.value;
  if (node === null) return null;
  return (
    <span class="faint clip" title={texts.live.instance(node.name)}>
      {text(node.id)}
    </span>
  );
}
