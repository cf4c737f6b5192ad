// Where everything of the graph stands: boxes around groups, pieces side by side, hubs at the edge.

import { GAP, flow } from "./place.js";

const BOX = { side: 12, top: 30, bottom: 12, arc: 24 };
const PIECE_GAP = { x: 84, y: 30 };
// In a large graph a source that this many tables read is drawn apart: its edges would hide all else.
const HUB = 16;
const LARGE = 80;
const STRETCHES = [0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.75];

/**
 * `items`: `{id, width, height}`; `edges`: `{source, target}`; `boxes`: `{id, members, parent?}`, where
 * members are ids of items. Gives `at` and `boxes` (id to rectangle), `ways` (per edge: a list of points,
 * null where it leads back), `hubs` (ids whose edges are drawn on demand), `width`, `height`.
 */
export function layout(items, edges, boxes, aspect = 1.6) {
  const level = inside(items, boxes);
  const between = lifted(edges, level);
  const at = new Map();
  const ways = new Map();
  const rectangles = new Map();
  const stretches = new Map(edges.map((edge) => [edge, []]));
  const sizes = new Map(items.map((item) => [item.id, { width: item.width, height: item.height }]));
  const inner = new Map();

  // The innermost boxes first: a box is as large as what it holds.
  for (const box of innermostFirst(boxes)) {
    const members = [...level.children.get(box.id)];
    const { entries, exits, passing } = doorsOf(box.id, edges, level);
    const found = flow(
      new Map(members.map((id) => [id, sizes.get(id)])), [...(between.get(box.id) ?? []), ...passing], { entries, exits });
    inner.set(box.id, found);
    const leadsBack = [...found.ways.values()].includes(null);
    sizes.set(box.id, {
      width: found.width + 2 * BOX.side, height: found.height + BOX.top + BOX.bottom + (leadsBack ? BOX.arc : 0),
    });
  }

  const roots = [...level.children.get(null)];
  const { hubs, placed, width, height } = pieces(roots, sizes, between.get(null) ?? [], aspect, boxes);
  spill(placed, { x: 0, y: 0 });

  function spill(found, origin) {
    for (const [id, corner] of found.at) {
      const place = { x: origin.x + corner.x, y: origin.y + corner.y, ...sizes.get(id) };
      if (inner.has(id)) {
        rectangles.set(id, place);
        spill(inner.get(id), { x: place.x + BOX.side, y: place.y + BOX.top });
      } else {
        at.set(id, place);
      }
    }
    for (const [edge, points] of found.ways) {
      const moved = points?.map(({ left, right, y }) => ({
        left: left + origin.x, right: right + origin.x, y: y + origin.y,
      })) ?? null;
      for (const real of edge.real) stretches.get(real).push({ part: edge.part ?? "between", points: moved });
    }
  }
  for (const [edge, parts] of stretches) ways.set(edge, joined(parts));

  return { at, boxes: rectangles, ways, hubs, width, height };
}

/** Which items and boxes stand directly in which box; null is the whole. */
function inside(items, boxes) {
  const parent = new Map();
  for (const box of boxes) {
    parent.set(box.id, box.parent ?? null);
    for (const id of box.members) parent.set(id, box.id);
  }
  const children = new Map([[null, new Set()], ...boxes.map((box) => [box.id, new Set()])]);
  for (const { id } of items) children.get(parent.get(id) ?? null).add(id);
  for (const { id } of boxes) children.get(parent.get(id)).add(id);
  return { parent, children };
}

/** Edges as edges between what stands side by side: per box, each with the real edges it stands for. */
function lifted(edges, { parent }) {
  const chain = (id) => {
    const found = [id];
    while (parent.get(found.at(-1)) ?? null) found.push(parent.get(found.at(-1)));
    return [...found, null];
  };
  const found = new Map();
  for (const edge of edges) {
    const up = chain(edge.source);
    const down = chain(edge.target);
    const home = up.find((id, index) => index > 0 && down.indexOf(id) > 0);
    const source = up[up.indexOf(home) - 1];
    const target = down[down.indexOf(home) - 1];
    if (!found.has(home)) found.set(home, new Map());
    const key = JSON.stringify([source, target]);
    const known = found.get(home).get(key);
    if (known) known.real.push(edge);
    else found.get(home).set(key, { source, target, real: [edge] });
  }
  return new Map([...found].map(([home, known]) => [home, [...known.values()]]));
}

/** Where edges enter and leave a box, so that on their way they go round its other members. */
function doorsOf(box, edges, { parent, children }) {
  const entries = new Set();
  const exits = new Set();
  const passing = new Map();
  const within = (id) => {
    let each = id;
    while (each !== null && !children.get(box).has(each)) each = parent.get(each) ?? null;
    return each;
  };
  for (const edge of edges) {
    const source = within(edge.source);
    const target = within(edge.target);
    if ((source === null) === (target === null)) continue;
    const member = source ?? target;
    const door = JSON.stringify([source === null ? "entry" : "exit", member]);
    if (!passing.has(door)) {
      (source === null ? entries : exits).add(door);
      passing.set(door, source === null
        ? { source: door, target: member, real: [], part: "in" }
        : { source: member, target: door, real: [], part: "out" });
    }
    passing.get(door).real.push(edge);
  }
  return { entries, exits, passing: [...passing.values()] };
}

/** One way: out of its boxes, between them, and into others; null where it leads back. */
function joined(parts) {
  const between = parts.find((each) => each.part === "between");
  if (!between || between.points === null) return null;
  const stretch = (part) => parts.filter((each) => each.part === part).flatMap((each) => each.points ?? []);
  const points = [...stretch("out"), ...between.points, ...stretch("in")];
  return points.sort((a, b) => a.left - b.left);
}

function innermostFirst(boxes) {
  const nested = new Set(boxes.map((box) => box.parent).filter(Boolean));
  return [...boxes.filter((box) => !nested.has(box.id)), ...boxes.filter((box) => nested.has(box.id))];
}

/** Lay out what hangs together, piece by piece, and set the pieces side by side. */
function pieces(ids, sizes, edges, aspect, boxes) {
  const boxed = new Set(boxes.map((box) => box.id));
  const readers = new Map(ids.map((id) => [id, 0]));
  const fed = new Set(edges.map((edge) => edge.target));
  for (const edge of edges) readers.set(edge.source, readers.get(edge.source) + 1);
  const hubs = ids.length < LARGE ? [] : ids.filter((id) => !boxed.has(id) && !fed.has(id) && readers.get(id) >= HUB);
  const apart = new Set(hubs);
  const near = edges.filter((edge) => !apart.has(edge.source));
  const found = connected(ids.filter((id) => !apart.has(id)), near).map((part) =>
    flow(new Map(part.ids.map((id) => [id, sizes.get(id)])), part.edges));
  const column = flow(new Map(hubs.map((id) => [id, sizes.get(id)])), []);
  const shift = hubs.length ? column.width + 2 * GAP.x : 0;
  const shelf = shelves(found, aspect);
  const at = new Map(column.at);
  const ways = new Map(edges.filter((edge) => apart.has(edge.source)).map((edge) => [edge, []]));
  found.forEach((part, index) => {
    const { x, y } = shelf.corners[index];
    for (const [id, corner] of part.at) at.set(id, { x: corner.x + x + shift, y: corner.y + y });
    for (const [edge, points] of part.ways) {
      ways.set(edge, points?.map(({ left, right, y: height }) => ({
        left: left + x + shift, right: right + x + shift, y: height + y,
      })) ?? null);
    }
  });
  return {
    hubs: apart, placed: { at, ways }, width: shelf.width + shift, height: Math.max(shelf.height, column.height),
  };
}

function connected(ids, edges) {
  const near = new Map(ids.map((id) => [id, []]));
  for (const { source, target } of edges) {
    near.get(source).push(target);
    near.get(target).push(source);
  }
  const part = new Map();
  const parts = [];
  for (const root of ids) {
    if (part.has(root)) continue;
    const found = { ids: [], edges: [] };
    const stack = [root];
    part.set(root, found);
    while (stack.length) {
      const id = stack.pop();
      for (const other of near.get(id)) {
        if (!part.has(other)) {
          part.set(other, found);
          stack.push(other);
        }
      }
    }
    parts.push(found);
  }
  for (const id of ids) part.get(id).ids.push(id);
  for (const edge of edges) part.get(edge.source).edges.push(edge);
  return parts;
}

/** Rows of pieces, of those widths that come to mind the one that fills the window best. */
function shelves(parts, aspect) {
  const area = parts.reduce((sum, part) => sum + (part.width + PIECE_GAP.x) * (part.height + PIECE_GAP.y), 0);
  const least = Math.max(0, ...parts.map((part) => part.width));
  let best = null;
  for (const stretch of STRETCHES) {
    const found = shelved(parts, Math.max(least, Math.sqrt(area * aspect) * stretch));
    const size = Math.max(found.width / aspect, found.height);
    if (!best || size < best.size) best = { ...found, size };
  }
  return best;
}

/** The tall ones first, row by row. */
function shelved(parts, wide) {
  const order = parts.map((_, index) => index).sort((a, b) => parts[b].height - parts[a].height || a - b);
  const corners = [];
  let x = 0;
  let y = 0;
  let tall = 0;
  let width = 0;
  for (const index of order) {
    const part = parts[index];
    if (x > 0 && x + part.width > wide + 1) {
      x = 0;
      y += tall + PIECE_GAP.y;
      tall = 0;
    }
    corners[index] = { x, y };
    x += part.width + PIECE_GAP.x;
    tall = Math.max(tall, part.height);
    width = Math.max(width, x - PIECE_GAP.x);
  }
  return { corners, width, height: y + tall };
}
