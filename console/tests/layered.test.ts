import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutGraph, spread } from "../src/core/layered.ts";

const nodesOf = (...ids: string[]) => ids.map((id) => ({ id, width: 100, height: 40 }));
const edgesOf = (...pairs: string[]) => pairs.map((pair) => ({ from: pair[0] ?? "", to: pair[1] ?? "" }));

test("chain is one straight line", () => {
  const { nodes, edges } = layoutGraph(nodesOf("a", "b", "c"), edgesOf("ab", "bc"), "TB");
  assert.equal(new Set([...nodes.values()].map((point) => point.x)).size, 1);
  const depths = [...nodes.values()].map((point) => point.y);
  assert.deepEqual(depths, [...depths].sort((a, b) => a - b));
  assert.deepEqual(edges[0]?.map((point) => point.x), [nodes.get("a")?.x, nodes.get("b")?.x]);
});

test("branches stand under the middle of their origin", () => {
  const { nodes } = layoutGraph(nodesOf("a", "b", "c", "d"), edgesOf("ab", "ac", "bd", "cd"), "TB");
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => nodes.get(id));
  assert.ok(Math.abs((a?.x ?? 0) - ((b?.x ?? 0) + (c?.x ?? 0)) / 2) < 1);
  assert.ok(Math.abs((d?.x ?? 0) - (a?.x ?? 0)) < 1);
  assert.equal(b?.y, c?.y);
});

test("no two nodes overlap", () => {
  const ids = Array.from({ length: 60 }, (_, index) => `n${index}`);
  const edges = ids.flatMap((id, index) => [{ from: id, to: `n${(index * 7 + 3) % 60}` }, { from: id, to: `n${Math.min(59, index + 1)}` }]);
  for (const direction of ["TB", "LR"] as const) {
    const { nodes, width, height } = layoutGraph(nodesOf(...ids), edges, direction);
    const points = [...nodes.values()];
    for (const [index, a] of points.entries()) {
      assert.ok(a.x >= 50 && a.x <= width - 50 && a.y >= 20 && a.y <= height - 20);
      for (const b of points.slice(index + 1)) assert.ok(Math.abs(a.x - b.x) >= 99.9 || Math.abs(a.y - b.y) >= 39.9);
    }
  }
});

test("cycle is drawn with its last edge going back", () => {
  const { nodes, edges } = layoutGraph(nodesOf("a", "b", "c"), edgesOf("ab", "bc", "ca"), "TB");
  const back = edges[2] ?? [];
  assert.ok((back[0]?.y ?? 0) > (back.at(-1)?.y ?? 0));
  assert.ok((nodes.get("a")?.y ?? 0) < (nodes.get("c")?.y ?? 0));
});

test("edges to what is no node have no points", () => {
  const { edges, width } = layoutGraph(nodesOf("a"), edgesOf("ax", "aa"), "LR");
  assert.deepEqual(edges, [[], []]);
  assert.equal(width, 124);
  assert.deepEqual(layoutGraph([], [], "TB").nodes.size, 0);
});

test("places keep their distances and stay near", () => {
  assert.deepEqual(spread([0, 0, 10], [4, 4]), [-2, 2, 10]);
  assert.deepEqual(spread([0, 9], [4]), [0, 9]);
});
