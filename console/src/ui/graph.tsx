// Graphs of tasks and of dependencies, laid out by dagre, which is loaded with the first graph.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Skeleton } from "./content.tsx";

/** A node of a graph. */
export interface GraphNode {
  id: string;
  /** Its name for readers of the screen. */
  label: string;
  content: ComponentChildren;
  width?: number;
  height?: number;
  /** The token of the colour of its border. */
  hue?: string;
  to?: string;
  onChoose?: () => void;
  isCurrent?: boolean;
}

/** An edge of a graph. */
export interface GraphEdge {
  from: string;
  to: string;
  label?: string;
  hue?: string;
  isDashed?: boolean;
}

interface Placed {
  width: number;
  height: number;
  nodes: ReadonlyMap<string, { x: number; y: number; width: number; height: number }>;
  edges: readonly { key: string; path: string; edge: GraphEdge; x: number; y: number }[];
}

const WIDTH = 188;
const HEIGHT = 52;

async function placeGraph(nodes: readonly GraphNode[], edges: readonly GraphEdge[], direction: "TB" | "LR"): Promise<Placed> {
  const { Graph, layout } = await import("@dagrejs/dagre");
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: 40, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width ?? WIDTH, height: node.height ?? HEIGHT });
  const known = new Set(nodes.map((node) => node.id));
  const drawn = edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
  for (const [index, edge] of drawn.entries()) graph.setEdge(edge.from, edge.to, {}, String(index));
  layout(graph);
  const box = graph.graph() as { width?: number; height?: number };
  return {
    width: box.width ?? 0,
    height: box.height ?? 0,
    nodes: new Map(
      nodes.map((node) => {
        const { x = 0, y = 0, width = WIDTH, height = HEIGHT } = graph.node(node.id) as Partial<{ x: number; y: number; width: number; height: number }>;
        return [node.id, { x: x - width / 2, y: y - height / 2, width, height }];
      }),
    ),
    edges: drawn.map((edge, index) => {
      const { points = [] } = graph.edge({ v: edge.from, w: edge.to, name: String(index) }) as { points?: { x: number; y: number }[] };
      const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
      return { key: `${edge.from} ${edge.to} ${index}`, path: curve(points), edge, x: middle.x, y: middle.y };
    }),
  };
}

/** Returns a path through points, with round corners. */
function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    path += next === undefined ? `L${point.x} ${point.y}` : `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  }
  return path;
}

/** A graph. `signature` changes when nodes or edges do; counts on the nodes may change without it. */
export function GraphView(props: {
  label: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  signature: string;
  direction?: "TB" | "LR";
}) {
  const placed = useSignal<Placed | null>(null);
  useEffect(() => {
    let isGone = false;
    void placeGraph(props.nodes, props.edges, props.direction ?? "TB").then((result) => {
      if (!isGone) placed.value = result;
    });
    return () => {
      isGone = true;
    };
  }, [props.signature, props.direction]);

  const graph = placed.value;
  if (graph === null) return <Skeleton lines={4} />;
  return (
    <div class="graph" role="group" aria-label={props.label} tabIndex={0}>
      <div class="graph-canvas" style={{ width: `${graph.width}px`, height: `${graph.height}px` }}>
        <svg width={graph.width} height={graph.height} aria-hidden="true">
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M1 1l6 3-6 3" fill="none" stroke="var(--text-3)" stroke-width="1.4" />
            </marker>
          </defs>
          {graph.edges.map(({ key, path, edge, x, y }) => (
            <g key={key}>
              <path
                d={path}
                fill="none"
                stroke={`var(${edge.hue ?? "--line-strong"})`}
                stroke-width="1.4"
                stroke-dasharray={edge.isDashed ? "4 4" : undefined}
                marker-end="url(#arrow)"
              />
              {edge.label && (
                <text x={x} y={y} class="graph-label">
                  {edge.label}
                </text>
              )}
            </g>
          ))}
        </svg>
        {props.nodes.map((node) => {
          const at = graph.nodes.get(node.id);
          if (at === undefined) return null;
          const style = { left: `${at.x}px`, top: `${at.y}px`, width: `${at.width}px`, height: `${at.height}px`, "--hue": `var(${node.hue ?? "--line-strong"})` };
          const shared = { class: `graph-node${node.isCurrent ? " current" : ""}`, style, "aria-label": node.label };
          if (node.to !== undefined) {
            return (
              <a key={node.id} href={node.to} {...shared}>
                {node.content}
              </a>
            );
          }
          return (
            <button key={node.id} type="button" onClick={node.onChoose} aria-pressed={node.isCurrent} {...shared}>
              {node.content}
            </button>
          );
        })}
      </div>
    </div>
  );
}
