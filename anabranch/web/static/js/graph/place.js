// Coordinates for ordered columns: as near to their neighbours as the order and the gaps allow.

import { layered } from "./layers.js";

export const GAP = { x: 52, y: 14 };
const PASSING = 10;
const ROUNDS = 8;

/**
 * Lay out items that flow from left to right.
 * `sizes` maps ids to `{width, height}`. Gives `at` (id to corner), `ways` (edge to the points where it
 * passes columns; null for an edge against the flow), `width`, `height`. `doors` (see `layered`) are
 * where edges enter and leave a box: they take no room of their own.
 */
export function flow(sizes, edges, doors = { entries: new Set(), exits: new Set() }) {
  const door = (id) => doors.entries.has(id) || doors.exits.has(id);
  const ids = [...sizes.keys(), ...doors.entries, ...doors.exits];
  const { columns, passes, back } = layered(ids, edges, doors);
  for (const column of columns) {
    for (const cell of column) cell.size = cell.edge || door(cell.id) ? PASSING : sizes.get(cell.id).height;
  }
  settle(columns);
  const at = new Map();
  const lefts = [];
  let x = 0;
  let bottom = 0;
  const top = Math.min(...columns.flat().map((cell) => cell.y - cell.size / 2));
  columns.forEach((column, index) => {
    const outside = column.some((cell) => cell.id !== undefined && door(cell.id));
    const width = Math.max(0, ...column.map((cell) => (cell.edge || outside ? 0 : sizes.get(cell.id).width)));
    lefts[index] = { left: x, right: x + width };
    for (const cell of column) {
      cell.y -= top;
      bottom = Math.max(bottom, cell.y + cell.size / 2);
      if (!cell.edge && !outside) at.set(cell.id, { x, y: cell.y - cell.size / 2 });
    }
    if (!outside) x += width + GAP.x;
  });
  const ways = new Map();
  for (const [edge, cells] of passes) {
    ways.set(edge, cells.map((cell) => ({ ...lefts[cell.rank], y: cell.y })));
  }
  for (const edge of back) ways.set(edge, null);
  return { at, ways, width: Math.max(0, x - GAP.x), height: bottom };
}

/** Pull every cell to the middle of its neighbours, in turn from either side. */
function settle(columns) {
  for (const column of columns) {
    let y = 0;
    for (const cell of column) {
      cell.y = y + cell.size / 2;
      y += cell.size + GAP.y;
    }
  }
  for (let round = 0; round < ROUNDS; round++) {
    const last = round === ROUNDS - 1;
    for (const column of round % 2 ? [...columns].reverse() : columns) {
      for (const cell of column) {
        const near = last ? [...cell.before, ...cell.after] : round % 2 ? cell.after : cell.before;
        cell.wish = near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : cell.y;
      }
      spread(column);
    }
  }
}

/**
 * The places nearest to the wishes (least squares) that keep order and distance: cells that are in each
 * other's way become a block, which stands at the mean of its wishes.
 */
function spread(column) {
  const blocks = [];
  let offset = 0;
  let previous = null;
  for (const cell of column) {
    if (previous) offset += (previous.size + cell.size) / 2 + GAP.y;
    cell.offset = offset;
    let block = { cells: [cell], sum: cell.wish - offset, count: 1 };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).count >= block.sum / block.count) {
      const before = blocks.pop();
      block = {
        cells: before.cells.concat(block.cells), sum: before.sum + block.sum, count: before.count + block.count,
      };
    }
    blocks.push(block);
    previous = cell;
  }
  for (const block of blocks) {
    for (const cell of block.cells) cell.y = block.sum / block.count + cell.offset;
  }
}
