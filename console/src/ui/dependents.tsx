// What a change of a definition would touch, and what the definition needs itself, as a graph.

import { useMemo } from "preact/hooks";
import { readChannels, readConnectors, readWorkflows } from "../core/definitions/read.ts";
import { useLoad } from "../core/load.ts";
import { type Dependent, dependentKey, findReferences, touchedBy } from "../core/definitions/references.ts";
import { shellQuote } from "../core/format.ts";
import { fillPath, href } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Empty, Panel, ProblemBox, Skeleton } from "./content.tsx";
import { type GraphEdge, type GraphNode, GraphView } from "./graph.tsx";

const t = texts.definitions;

/** Definitions that are drawn. */
const MOST = 80;
const HUES = { channel: "--series-1", workflow: "--series-2", connector: "--series-3", plugin: "--series-4" } as const;
const PATHS = { channel: "/channels/:id", workflow: "/workflows/:id", connector: "/connectors/:id", plugin: "/plugins/:id" } as const;

const COMMANDS = {
  channel: (id: string) => `svc-cli channels impact ${id}`,
  workflow: (id: string) => `svc-cli workflows dependencies ${id}`,
  connector: (id: string) => `svc-cli connectors impact ${id}`,
  plugin: (id: string) => `svc-cli plugins impact ${id}`,
};

function nodeOf(node: Dependent, isCurrent: boolean): GraphNode {
  return {
    id: dependentKey(node.kind, node.id),
    // As it is read on the page: the name first.
    label: `${node.name} ${t.kinds[node.kind]}`,
    isNamedByContent: true,
    hue: HUES[node.kind],
    isCurrent,
    to: href(fillPath(PATHS[node.kind], { id: node.id })),
    content: (
      <>
        <span class="clip">{node.name}</span>
        <span class="clip faint dependent-kind">{t.kinds[node.kind]}</span>
      </>
    ),
  };
}

/** The definitions around one. */
export function Dependents({ kind, id }: { kind: Dependent["kind"]; id: string }) {
  const channels = useLoad("channels all", readChannels);
  const workflows = useLoad("workflows all", readWorkflows);
  const connectors = useLoad("connectors all", readConnectors);
  const key = dependentKey(kind, id);
  const found = useMemo(() => {
    if (channels.data === undefined || workflows.data === undefined || connectors.data === undefined) return null;
    return touchedBy(findReferences(channels.data.rows, workflows.data.rows, connectors.data.rows), key, MOST);
  }, [channels.data, workflows.data, connectors.data, key]);
  const problem = channels.problem ?? workflows.problem ?? connectors.problem;
  if (problem) return <ProblemBox problem={problem} />;
  if (found === null) return <Skeleton lines={4} />;
  const nodes = found.nodes.map((node) => nodeOf(node, dependentKey(node.kind, node.id) === key));
  const edges = found.references.map((reference): GraphEdge => ({
    from: reference.from,
    to: reference.to,
    label: t.references[reference.how],
    isDashed: reference.how === "on_failure",
  }));
  const users = found.references.filter((reference) => reference.to === key).length;
  return (
    <Panel title={t.dependents} note={<span class="muted">{t.usedBy(users)}</span>} flush>
      {nodes.length < 2 ? (
        <Empty icon="link" text={t.noDependents} command={COMMANDS[kind](shellQuote(id))} />
      ) : (
        <GraphView label={t.dependents} nodes={nodes} edges={edges} signature={JSON.stringify([nodes.map((node) => node.id), edges])} direction="LR" />
      )}
      <p class="hint muted">
        {t.latestOnly} {found.leftOut > 0 && t.leftOut(found.leftOut)}
      </p>
    </Panel>
  );
}
