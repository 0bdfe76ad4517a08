// The layout of directed graphs in layers: edges go from one layer to a later one, with few crossings and straight lines.
//
// Cycles are broken, each node gets the layer behind its last predecessor, long edges pass through a place of their own in
// each layer, layers are ordered by the places of their neighbours, and places are moved as near to these as they fit.

/** A node to place. */
export interface LayoutNode {
  id: string;
  width: number;
  height: number;
}

/** An edge to draw. */
export interface LayoutEdge {
  from: string;
  to: string;
}

/** A point of the drawing. */
export interface Point {
  x: number;
  y: number;
}

/** A drawing: the middle of each node, and the points of each edge from its beginning to its end. */
export interface Layout {
  width: number;
  height: number;
  nodes: ReadonlyMap<string, Point>;
  edges: readonly (readonly Point[])[];
}

const GAP = 28;
const LAYER_GAP = 44;
const MARGIN = 12;
/** Width of the place of an edge that passes a layer. */
const LANE = 8;
const SWEEPS = 12;

/** A node, or the place of an edge in a layer that it passes. */
interface Place {
  breadth: number;
  depth: number;
  layer: number;
  middle: number;
  before: Place[];
  after: Place[];
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Returns which edges point back to a node that leads to them. */
function findBackEdges(ids: readonly string[], edges: readonly LayoutEdge[]): Set<LayoutEdge> {
  const outgoing = new Map<string, LayoutEdge[]>(ids.map((id) => [id, []]));
  for (const edge of edges) outgoing.get(edge.from)?.push(edge);
  const state = new Map<string, "open" | "done">();
  const back = new Set<LayoutEdge>();
  for (const start of ids) {
    const path: { id: string; next: number }[] = state.has(start) ? [] : [{ id: start, next: 0 }];
    if (path.length > 0) state.set(start, "open");
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = outgoing.get(top.id)?.[top.next++];
      if (edge === undefined) {
        state.set(top.id, "done");
        path.pop();
      } else if (state.get(edge.to) === "open") back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, "open");
        path.push({ id: edge.to, next: 0 });
      }
    }
  }
  return back;
}

/** Gives each place the layer behind its last predecessor. */
function assignLayers(places: readonly Place[]): void {
  const missing = new Map(places.map((place) => [place, place.before.length]));
  const ready = places.filter((place) => place.before.length === 0);
  for (let place = ready.shift(); place !== undefined; place = ready.shift()) {
    for (const next of place.after) {
      next.layer = Math.max(next.layer, place.layer + 1);
      const left = (missing.get(next) ?? 0) - 1;
      missing.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
}

/** Orders layers by the mean place of the neighbours on one side, up and down in turn. */
function orderLayers(layers: Place[][]): void {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const ordered = isDown ? layers : [...layers].reverse();
    for (const layer of ordered) {
      const mean = (place: Place, index: number) => {
        const near = isDown ? place.before : place.after;
        return near.length === 0 ? index : total(near.map((other) => other.middle)) / near.length;
      };
      const keyed = layer.map((place, index) => ({ place, key: mean(place, index), index }));
      keyed.sort((a, b) => a.key - b.key || a.index - b.index);
      for (const [index, { place }] of keyed.entries()) {
        layer[index] = place;
        place.middle = index;
      }
    }
  }
}

/** Returns places as near to the wanted ones as their order and distances allow: the least squares. */
export function spread(wanted: readonly number[], distances: readonly number[]): number[] {
  let offset = 0;
  const offsets = wanted.map((_, index) => (offset += index === 0 ? 0 : (distances[index - 1] ?? 0)));
  const blocks: { sum: number; count: number }[] = [];
  for (const [index, value] of wanted.entries()) {
    let block = { sum: value - (offsets[index] ?? 0), count: 1 };
    for (let last = blocks.at(-1); last !== undefined && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  const means = blocks.flatMap((block) => Array<number>(block.count).fill(block.sum / block.count));
  return means.map((mean, index) => mean + (offsets[index] ?? 0));
}

/** Moves the places of each layer as near to their neighbours as they fit. */
function moveLayers(layers: readonly Place[][]): void {
  const distances = layers.map((layer) => layer.slice(1).map((place, index) => ((layer[index]?.breadth ?? 0) + place.breadth) / 2 + GAP));
  for (const [index, layer] of layers.entries()) {
    let at = 0;
    for (const [place, node] of layer.entries()) node.middle = at += place === 0 ? 0 : (distances[index]?.[place - 1] ?? 0);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const order = [...layers.keys()];
    for (const index of sweep % 2 === 0 ? order : order.reverse()) {
      const layer = layers[index] ?? [];
      const isLast = sweep === SWEEPS - 1;
      const wanted = layer.map((place) => {
        const near = isLast ? [...place.before, ...place.after] : sweep % 2 === 0 ? place.before : place.after;
        return near.length === 0 ? place.middle : total(near.map((other) => other.middle)) / near.length;
      });
      for (const [place, middle] of spread(wanted, distances[index] ?? []).entries()) (layer[place] as Place).middle = middle;
    }
  }
}

/** Places the nodes of a graph. Edges from or to what is no node are left out of the drawing, with no points. */
export function layoutGraph(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[], direction: "TB" | "LR"): Layout {
  const isAcross = direction === "LR";
  const make = (breadth: number, depth: number): Place => ({ breadth, depth, layer: 0, middle: 0, before: [], after: [] });
  const places = new Map(nodes.map((node) => [node.id, isAcross ? make(node.height, node.width) : make(node.width, node.height)]));
  const drawn = edges.filter((edge) => places.has(edge.from) && places.has(edge.to) && edge.from !== edge.to);
  const back = findBackEdges([...places.keys()], drawn);
  const ends = (edge: LayoutEdge): [Place, Place] => {
    const [from, to] = [places.get(edge.from) as Place, places.get(edge.to) as Place];
    return back.has(edge) ? [to, from] : [from, to];
  };
  for (const edge of drawn) {
    const [from, to] = ends(edge);
    from.after.push(to);
    to.before.push(from);
  }
  assignLayers([...places.values()]);

  const layers: Place[][] = Array.from({ length: Math.max(0, ...[...places.values()].map((place) => place.layer + 1)) }, () => []);
  for (const place of places.values()) {
    [place.before, place.after] = [[], []];
    layers[place.layer]?.push(place);
  }
  const ways = new Map<LayoutEdge, Place[]>();
  for (const edge of drawn) {
    const [from, to] = ends(edge);
    const way = [from];
    for (let layer = from.layer + 1; layer < to.layer; layer++) {
      const lane = { ...make(LANE, 0), layer };
      layers[layer]?.push(lane);
      way.push(lane);
    }
    way.push(to);
    for (const [index, place] of way.slice(1).entries()) {
      way[index]?.after.push(place);
      place.before.push(way[index] as Place);
    }
    ways.set(edge, way);
  }
  for (const layer of layers) for (const [index, place] of layer.entries()) place.middle = index;
  orderLayers(layers);
  moveLayers(layers);
  return draw(nodes, edges, layers, places, ways, back, isAcross);
}

function draw(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  layers: readonly Place[][],
  places: ReadonlyMap<string, Place>,
  ways: ReadonlyMap<LayoutEdge, readonly Place[]>,
  back: ReadonlySet<LayoutEdge>,
  isAcross: boolean,
): Layout {
  const all = layers.flat();
  const least = Math.min(...all.map((place) => place.middle - place.breadth / 2)) - MARGIN;
  const most = Math.max(...all.map((place) => place.middle + place.breadth / 2)) + MARGIN;
  const depths = layers.map((layer) => Math.max(0, ...layer.map((place) => place.depth)));
  const starts = depths.map((_, index) => MARGIN + total(depths.slice(0, index)) + index * LAYER_GAP);
  const point = (along: number, across: number): Point => (isAcross ? { x: along, y: across - least } : { x: across - least, y: along });
  const middleOf = (place: Place) => (starts[place.layer] ?? 0) + (depths[place.layer] ?? 0) / 2;
  const pointsOf = (edge: LayoutEdge): Point[] => {
    const way = ways.get(edge) ?? [];
    const points = way.flatMap((place, index) => {
      const middle = middleOf(place);
      if (index === 0) return [point(middle + place.depth / 2, place.middle)];
      if (index === way.length - 1) return [point(middle - place.depth / 2, place.middle)];
      const half = (depths[place.layer] ?? 0) / 2;
      return [point(middle - half, place.middle), point(middle + half, place.middle)];
    });
    return back.has(edge) ? points.reverse() : points;
  };
  const breadth = nodes.length === 0 ? 0 : most - least;
  const depth = total(depths) + Math.max(0, layers.length - 1) * LAYER_GAP + 2 * MARGIN;
  return {
    width: isAcross ? depth : breadth,
    height: isAcross ? breadth : depth,
    nodes: new Map(nodes.map((node) => {
      const place = places.get(node.id) as Place;
      return [node.id, point(middleOf(place), place.middle)];
    })),
    edges: edges.map(pointsOf),
  };
}
