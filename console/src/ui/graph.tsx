// Graphs of tasks and of dependencies, in layers.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { layoutGraph, type Point } from "../core/layered.ts";

/** A node of a graph. */
export interface GraphNode {
  id: string;
  /** Its name for readers of the screen. */
  label: string;
  /** Set if its content is its name, and the label a hint. */
  isNamedByContent?: boolean;
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

const WIDTH = 188;
const HEIGHT = 52;

/** Returns a path through points, with round corners. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    path += next === undefined ? `L${point.x} ${point.y}` : `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  }
  return path;
}

function Edge({ edge, points }: { edge: GraphEdge; points: readonly Point[] }) {
  const middle = points[Math.floor(points.length / 2)];
  if (middle === undefined) return null;
  return (
    <g>
      <path
        d={curve(points)}
        fill="none"
        stroke={`var(${edge.hue ?? "--line-strong"})`}
        stroke-width="1.4"
        stroke-dasharray={edge.isDashed ? "4 4" : undefined}
        marker-end="url(#arrow)"
      />
      {edge.label && (
        <text x={middle.x} y={middle.y} class="graph-label">
          {edge.label}
        </text>
      )}
    </g>
  );
}

/** A graph. `signature` changes when nodes or edges do; counts on the nodes may change without it. */
export function GraphView(props: {
  label: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  signature: string;
  direction?: "TB" | "LR";
}) {
  const graph = useMemo(() => {
    const sized = props.nodes.map((node) => ({ id: node.id, width: node.width ?? WIDTH, height: node.height ?? HEIGHT }));
    return layoutGraph(sized, props.edges, props.direction ?? "TB");
  }, [props.signature, props.direction]);
  return (
    <div class="graph" role="group" aria-label={props.label} tabIndex={0}>
      <div class="graph-canvas" style={{ width: `${graph.width}px`, height: `${graph.height}px` }}>
        <svg width={graph.width} height={graph.height} aria-hidden="true">
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M1 1l6 3-6 3" fill="none" stroke="var(--text-3)" stroke-width="1.4" />
            </marker>
          </defs>
          {props.edges.map((edge, index) => (
            <Edge key={`${edge.from} ${edge.to} ${index}`} edge={edge} points={graph.edges[index] ?? []} />
          ))}
        </svg>
        {props.nodes.map((node) => {
          const at = graph.nodes.get(node.id);
          if (at === undefined) return null;
          const [width, height] = [node.width ?? WIDTH, node.height ?? HEIGHT];
          const style = { left: `${at.x - width / 2}px`, top: `${at.y - height / 2}px`, width: `${width}px`, height: `${height}px`, "--hue": `var(${node.hue ?? "--line-strong"})` };
          const shared = { class: `graph-node${node.isCurrent ? " current" : ""}`, style, ...(node.isNamedByContent ? { title: node.label } : { "aria-label": node.label }) };
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
