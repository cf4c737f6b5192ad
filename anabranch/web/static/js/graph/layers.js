// Which column each item stands in, and in which order within it, so that few edges cross.

const SWEEPS = 12;

/**
 * Columns of cells. A cell is `{id}` of an item, or `{edge}` where an edge passes a column.
 * `edges` are `{source, target}` between items; edges against the flow are told in `back`.
 * `doors` are items that stand before all others (`entries`) or after them (`exits`).
 */
export function layered(ids, edges, { entries, exits }) {
  const { forward, back } = acyclic(ids, edges);
  const rank = ranks(ids, forward, entries, exits);
  const columns = [];
  const cells = new Map();
  const put = (cell) => (columns[cell.rank] ??= []).push(cell);
  for (const id of depthFirst(ids, forward)) {
    const cell = { id, rank: rank.get(id), before: [], after: [] };
    cells.set(id, cell);
    put(cell);
  }
  const passes = new Map();
  for (const edge of forward) {
    let last = cells.get(edge.source);
    const through = [];
    for (let column = last.rank + 1; column < rank.get(edge.target); column++) {
      const cell = { edge, rank: column, before: [last], after: [] };
      last.after.push(cell);
      put(cell);
      through.push(cell);
      last = cell;
    }
    const target = cells.get(edge.target);
    last.after.push(target);
    target.before.push(last);
    passes.set(edge, through);
  }
  order(columns);
  return { columns, cells, passes, back: new Set(back) };
}

/** Split the edges into those that agree on a direction and those that lead back. */
function acyclic(ids, edges) {
  const next = new Map(ids.map((id) => [id, []]));
  for (const edge of edges) next.get(edge.source).push(edge);
  const state = new Map();
  const forward = [];
  const back = [];
  for (const root of ids) {
    if (state.has(root)) continue;
    const stack = [[root, 0]];
    state.set(root, "open");
    while (stack.length) {
      const top = stack.at(-1);
      const edge = next.get(top[0])[top[1]++];
      if (!edge) {
        state.set(top[0], "done");
        stack.pop();
      } else if (state.get(edge.target) === "open") {
        back.push(edge);
      } else {
        forward.push(edge);
        if (!state.has(edge.target)) {
          state.set(edge.target, "open");
          stack.push([edge.target, 0]);
        }
      }
    }
  }
  return { forward, back };
}

/** The longest way from a start; starts stand right before the first that reads them. */
function ranks(ids, forward, entries, exits) {
  const waiting = new Map(ids.map((id) => [id, 0]));
  const next = new Map(ids.map((id) => [id, []]));
  for (const { source, target } of forward) {
    waiting.set(target, waiting.get(target) + 1);
    next.get(source).push(target);
  }
  const starts = ids.filter((id) => waiting.get(id) === 0);
  const rank = new Map(ids.map((id) => [id, 0]));
  const ready = [...starts];
  while (ready.length) {
    const id = ready.pop();
    for (const target of next.get(id)) {
      rank.set(target, Math.max(rank.get(target), rank.get(id) + 1));
      waiting.set(target, waiting.get(target) - 1);
      if (waiting.get(target) === 0) ready.push(target);
    }
  }
  for (const id of starts) {
    if (next.get(id).length) rank.set(id, Math.min(...next.get(id).map((target) => rank.get(target))) - 1);
  }
  const inner = ids.filter((id) => !entries.has(id) && !exits.has(id)).map((id) => rank.get(id));
  const first = Math.min(...inner) - (entries.size ? 1 : 0);
  for (const id of entries) rank.set(id, first);
  for (const id of exits) rank.set(id, Math.max(...inner) + 1);
  for (const id of ids) rank.set(id, rank.get(id) - first);
  return rank;
}

/** What belongs together comes together: a first order that needs little mending. */
function depthFirst(ids, forward) {
  const near = new Map(ids.map((id) => [id, []]));
  for (const { source, target } of forward) {
    near.get(source).push(target);
    near.get(target).push(source);
  }
  const seen = new Set();
  for (const root of ids) {
    const stack = [root];
    while (stack.length) {
      const id = stack.pop();
      if (seen.has(id)) continue;
      seen.add(id);
      stack.push(...near.get(id).filter((other) => !seen.has(other)).reverse());
    }
  }
  return [...seen];
}

/** Sort columns by where their neighbours stand, forth and back, and keep the best that was seen. */
function order(columns) {
  number(columns);
  let best = crossings(columns);
  let kept = columns.map((column) => [...column]);
  for (let sweep = 0; sweep < SWEEPS && best > 0; sweep++) {
    const forth = sweep % 2 === 0;
    const side = forth ? "before" : "after";
    for (const column of forth ? columns : [...columns].reverse()) {
      for (const cell of column) {
        const near = cell[side];
        cell.wish = near.length ? near.reduce((sum, other) => sum + other.place, 0) / near.length : cell.place;
      }
      column.sort((a, b) => a.wish - b.wish || a.place - b.place);
      column.forEach((cell, place) => (cell.place = place));
    }
    const found = crossings(columns);
    if (found < best) {
      best = found;
      kept = columns.map((column) => [...column]);
    }
  }
  kept.forEach((column, index) => (columns[index] = column));
  number(columns);
}

const number = (columns) => columns.forEach((column) => column.forEach((cell, place) => (cell.place = place)));

/** How many pairs of edges cross: inversions, counted column by column with a tree of sums. */
function crossings(columns) {
  let total = 0;
  for (const column of columns.slice(1)) {
    const size = Math.max(1, ...column.flatMap((cell) => cell.before.map((other) => other.place + 1)));
    const tree = new Array(size + 1).fill(0);
    let seen = 0;
    for (const cell of column) {
      const places = cell.before.map((other) => other.place);
      for (const place of places) {
        let notAfter = 0;
        for (let i = place + 1; i > 0; i -= i & -i) notAfter += tree[i];
        total += seen - notAfter;
      }
      for (const place of places) {
        for (let i = place + 1; i <= size; i += i & -i) tree[i]++;
      }
      seen += places.length;
    }
  }
  return total;
}
