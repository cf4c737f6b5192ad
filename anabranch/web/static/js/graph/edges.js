// Lines between tables: smooth in the gaps, straight past columns, an arc where they lead back.

/** The path from one rectangle to another through the points of its way. */
export function edgePath(from, to, way) {
  if (way === null) return backwards(from, to);
  const start = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x, y: to.y + to.height / 2 };
  if (end.x < start.x + 8 && way.length === 0) return backwards(from, to);
  let path = `M${p(start)}`;
  let last = start;
  for (const { left, right, y } of way) {
    path += bend(last, { x: left, y }) + `H${right.toFixed(1)}`;
    last = { x: right, y };
  }
  return path + bend(last, end);
}

/** The last bit of a line, for one that would hide others if it were drawn in full. */
export const stub = (to) => `M${p({ x: to.x - STUB, y: to.y + to.height / 2 })}H${to.x.toFixed(1)}`;

const STUB = 18;

const p = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;

function bend(a, b) {
  // Long flat stretches stay flat; the turn happens in the last gap.
  const turn = Math.max(a.x, b.x - 120);
  const middle = (turn + b.x) / 2;
  const flat = turn > a.x ? `H${turn.toFixed(1)}` : "";
  return `${flat}C${middle.toFixed(1)} ${a.y.toFixed(1)} ${middle.toFixed(1)} ${b.y.toFixed(1)} ${p(b)}`;
}

function backwards(from, to) {
  const a = { x: from.x + from.width * 0.6, y: from.y + from.height };
  if (from === to) {
    const b = { x: from.x + from.width * 0.4, y: a.y };
    return `M${p(a)}C${p({ x: a.x + 6, y: a.y + 26 })} ${p({ x: b.x - 6, y: a.y + 26 })} ${p(b)}`;
  }
  const b = { x: to.x + to.width * 0.4, y: to.y + to.height };
  const low = Math.max(a.y, b.y) + 14 + Math.min(26, Math.abs(a.x - b.x) / 12);
  return `M${p(a)}C${p({ x: a.x, y: low })} ${p({ x: b.x, y: low })} ${p(b)}`;
}
