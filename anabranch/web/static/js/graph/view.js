// The graph on the screen: drawn once per structure, then only what changed is touched.

import { h, s, set, setText } from "../dom.js";
import { health, worst } from "../health.js";
import { iconPath } from "../icons.js";
import { edgePath, stub } from "./edges.js";
import { layout } from "./layout.js";
import { NodeShape, SIZE } from "./node.js";
import { reach, shown } from "./shown.js";
import { cutEnd } from "./text.js";
import { Viewport } from "./viewport.js";

// Below these scales the small text would be dust: larger and less of it is shown instead.
const DETAIL = [[0.66, "full"], [0.4, "middle"], [0, "far"]];
// A graph too large for the window begins at a scale at which names can still be read.
const LEAST = 0.24;

export class GraphView {
  #nodes = new Map();
  #edges = new Map();
  #drawn = null;
  #structure = "";
  #places = null;
  #marked = null;
  #size = null;

  /** `on`: `select(id | null)`, `open(name)`, `toggle(groupId)`. */
  constructor(store, on) {
    Object.assign(this, { store, on, selected: null, focused: null });
    this.choice = { fold: "none", folded: new Set(), unfolded: new Set(), near: null };
    this.boxLayer = s("g", { class: "boxes" });
    this.edgeLayer = s("g", { class: "edges", "aria-hidden": "true" });
    this.nodeLayer = s("g", { class: "nodes" });
    const layer = s("g", {}, this.boxLayer, this.edgeLayer, this.nodeLayer);
    this.svg = s("svg", { class: "canvas", role: "group", tabindex: -1, "aria-label": "Graph of tables" }, arrows(), layer);
    this.element = h("div", { class: "graph" }, this.svg);
    this.viewport = new Viewport(this.svg, layer, () => this.#zoomed());
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("dblclick", (event) => this.#doubleClick(event));
    this.svg.addEventListener("focusin", (event) => this.#focus(event));
    new ResizeObserver(() => this.#resized()).observe(this.element);
  }

  /** Whether anything has been drawn yet. */
  get ready() {
    return this.#places !== null;
  }

  get items() {
    return this.#drawn?.items ?? [];
  }

  get boxes() {
    return this.#drawn?.boxes ?? [];
  }

  place(id) {
    return this.#places?.at.get(id) ?? null;
  }

  /** The item that stands for a table: itself, or what it is collapsed into. */
  itemOf(name) {
    return this.#drawn?.items.find((item) => item.names.includes(name)) ?? null;
  }

  /** Take over the store's picture; the view stays where it is. */
  update() {
    if (!this.store.graph) return;
    if (this.choice.near && !this.store.nodes.has(this.choice.near.name)) this.choice.near = null;
    this.#drawn = shown(this.store, this.choice);
    const structure = JSON.stringify([
      this.#drawn.items.map((item) => [item.id, item.kind, item.names.length]),
      this.#drawn.edges.map((edge) => edge.id),
      this.#drawn.boxes.map((box) => [box.id, box.members, box.parent]),
    ]);
    if (structure !== this.#structure) {
      this.#structure = structure;
      this.#draw();
    }
    this.refresh();
  }

  /** Show states anew; nothing moves. */
  refresh() {
    if (!this.#drawn) return;
    const { store } = this;
    const now = store.now();
    const healths = new Map(store.graph.nodes.map((node) => [node.name, health(node, store.sampledAt, now)]));
    for (const item of this.#drawn.items) {
      const node = store.nodes.get(item.names[0]);
      this.#nodes.get(item.id).show({
        kind: node.kind, rows: node.rows, status: node.status,
        health: worst(item.names.map((name) => healths.get(name))),
        running: item.names.some((name) => store.running.has(name)),
        reads: item.kind === "folded" ? [] : store.reads.get(item.names[0]) ?? [],
      });
    }
    for (const box of this.#drawn.boxes) {
      const label = this.boxLayer.querySelector(`[data-box="${CSS.escape(box.id)}"] text`);
      if (label) setText(label, cutEnd(box.title, (this.#places.boxes.get(box.id)?.width ?? 200) - 64, 11, 500));
    }
    for (const edge of this.#drawn.edges) {
      const item = this.#nodes.get(edge.source);
      set(this.#edges.get(edge.id).path, "data-held", item.group.dataset.state === "gated" || null);
    }
    this.#mark();
  }

  /** Fade all but these names (null: none). */
  fade(names) {
    this.#marked = names;
    this.#mark();
  }

  select(id, { reveal = false, focus = false } = {}) {
    this.selected = id;
    this.#mark();
    const place = id && this.place(id);
    if (!place) return;
    this.#rove(id);
    if (reveal) this.viewport.reveal(place, { least: 0.85 });
    if (focus) this.#nodes.get(id).group.focus({ preventScroll: true });
  }

  fit(options = { least: 0 }) {
    if (this.#places) this.viewport.fit(this.#places.width || 1, this.#places.height || 1, options);
  }

  /** Move the focus to the nearest item on a side; what is connected counts as nearer. */
  step(direction) {
    const from = this.place(this.focused ?? "") ?? null;
    if (!from) return;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[direction];
    const joined = new Set(this.#drawn.edges.flatMap(({ source, target }) =>
      source === this.focused ? [target] : target === this.focused ? [source] : []));
    let best = null;
    for (const [id, to] of this.#places.at) {
      const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
      if (id === this.focused || along <= 4) continue;
      const across = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
      const score = (along + 2.5 * across) * (dx && joined.has(id) ? 0.3 : 1);
      if (!best || score < best.score) best = { id, score };
    }
    if (best) this.focus(best.id);
  }

  focus(id = this.focused ?? this.items[0]?.id) {
    if (!id || !this.#nodes.has(id)) return;
    this.#nodes.get(id).group.focus({ preventScroll: true });
  }

  #draw() {
    const { items, edges, boxes } = this.#drawn;
    const before = this.#places;
    const anchor = this.#anchor();
    const { width, height } = this.viewport.size;
    this.#places = layout(items.map(({ id }) => ({ id, ...SIZE })), edges, boxes, width / height);
    const kept = this.#nodes;
    this.#nodes = new Map();
    for (const item of items) {
      const old = kept.get(item.id);
      const same = old && old.item.kind === item.kind && old.item.names.length === item.names.length;
      const node = same ? old : new NodeShape(item);
      node.item = item;
      node.move(this.#places.at.get(item.id));
      this.#nodes.set(item.id, node);
    }
    const hadFocus = this.svg.contains(document.activeElement);
    this.nodeLayer.replaceChildren(...[...this.#nodes.values()].map((node) => node.group));
    this.#drawEdges();
    this.boxLayer.replaceChildren(...outermostFirst(boxes).map((box) => this.#box(box)));
    if (!this.#nodes.has(this.focused)) this.focused = null;
    if (!this.#nodes.has(this.selected)) this.selected = null;
    this.#rove(this.focused ?? this.selected ?? items[0]?.id);
    if (hadFocus) this.focus();
    if (!before) {
      this.fit({ smooth: false, least: LEAST });
    } else if (anchor && this.place(anchor.id)) {
      const to = this.place(anchor.id);
      this.viewport.pan((anchor.x - to.x) * this.viewport.k, (anchor.y - to.y) * this.viewport.k);
    } else {
      this.fit({ least: LEAST });
    }
    set(this.svg, "aria-label", `Graph of ${items.length} tables; move with the arrow keys`);
  }

  #drawEdges() {
    const { at, ways, hubs } = this.#places;
    this.#edges = new Map(this.#drawn.edges.map((edge) => {
      const way = ways.get(edge);
      const full = edgePath(at.get(edge.source), at.get(edge.target), way);
      const resting = hubs.has(edge.source) ? stub(at.get(edge.target)) : full;
      const path = s("path", {
        d: resting, class: "edge", "marker-end": "url(#arrow)",
        data: { source: edge.source, target: edge.target },
      });
      if (way === null) path.dataset.back = "";
      return [edge.id, { edge, path, full, resting }];
    }));
    this.edgeLayer.replaceChildren(...[...this.#edges.values()].map(({ path }) => path));
  }

  /** What should stay in its place when the rest moves: the selection, or what is in the middle. */
  #anchor() {
    if (!this.#places) return null;
    const kept = this.selected ?? this.focused;
    if (kept && this.place(kept)) return { id: kept, ...this.place(kept) };
    const { x, y, k, size } = this.viewport;
    const middle = { x: (size.width / 2 - x) / k, y: (size.height / 2 - y) / k };
    let best = null;
    for (const [id, place] of this.#places.at) {
      const far = Math.hypot(place.x + place.width / 2 - middle.x, place.y + place.height / 2 - middle.y);
      if (this.itemOf(id) && (!best || far < best.far)) best = { id, far, ...place };
    }
    return best;
  }

  #box(box) {
    const { x, y, width, height } = this.#places.boxes.get(box.id);
    const sign = box.kind === "cycle" ? "cycle" : "group";
    return s(
      "g",
      { class: "box", data: { box: box.id, kind: box.kind }, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
      s("rect", { width, height, rx: 10, class: "frame" }),
      s("g", { transform: "translate(12 8) scale(.85)" }, iconPath(sign)),
      s("text", { x: 32, y: 19 }, cutEnd(box.title, width - 64, 11, 500)),
      s(
        "g",
        { class: "fold", role: "button", "aria-label": `Collapse ${box.title}`, tabindex: -1, transform: `translate(${width - 26} 5)` },
        s("title", {}, "Collapse"),
        s("rect", { width: 20, height: 20, rx: 4 }),
        s("path", { d: "M6 10h8", class: "sign" }),
      ),
    );
  }

  #mark() {
    const up = this.selected ? this.#beyond("reads") : null;
    const down = this.selected ? this.#beyond("readers") : null;
    for (const [id, node] of this.#nodes) {
      set(node.group, "aria-pressed", id === this.selected ? "true" : "false");
      set(node.group, "data-faded", (this.#marked !== null && !node.item.names.some((name) => this.#marked.has(name))) || null);
    }
    for (const { edge, path, full, resting } of this.#edges.values()) {
      const on = up && ((up.has(edge.source) && (up.has(edge.target) || edge.target === this.selected))
        || (down.has(edge.target) && (down.has(edge.source) || edge.source === this.selected)));
      set(path, "data-on", on || null);
      set(path, "d", on ? full : resting);
      set(path, "marker-end", on ? "url(#arrow-on)" : path.hasAttribute("data-back") ? "url(#arrow-back)" : path.hasAttribute("data-held") ? "url(#arrow-held)" : "url(#arrow)");
      set(path, "data-faded", (this.#marked !== null || (up && !on)) || null);
    }
  }

  #beyond(side) {
    const next = new Map();
    for (const { source, target } of this.#drawn.edges) {
      const [from, to] = side === "reads" ? [target, source] : [source, target];
      if (!next.has(from)) next.set(from, []);
      next.get(from).push(to);
    }
    return reach(next, this.selected);
  }

  #zoomed() {
    set(this.svg, "data-detail", DETAIL.find(([least]) => this.viewport.k >= least)[1]);
  }

  /**
   * What was in the middle stays there. A view that nobody moved is fitted again, unless something is
   * selected: a line that wraps above the graph must not move it; it only stays in sight.
   */
  #resized() {
    const { width, height } = this.viewport.size;
    const before = this.#size;
    this.#size = { width, height };
    if (!this.#places || !before || width <= 1) return;
    const { moved } = this.viewport;
    const selected = this.selected && this.place(this.selected);
    if (!moved && !selected) {
      this.fit({ smooth: false, least: LEAST });
      return;
    }
    this.viewport.pan((width - before.width) / 2, (height - before.height) / 2);
    if (!moved) this.viewport.reveal(selected);
  }

  #rove(id) {
    for (const [each, node] of this.#nodes) set(node.group, "tabindex", each === id ? 0 : -1);
    if (id) this.focused = id;
  }

  #focus(event) {
    const id = event.target.closest(".node")?.dataset.id;
    if (!id) return;
    this.#rove(id);
    if (event.target.matches(":focus-visible")) this.viewport.reveal(this.place(id));
  }

  #click(event) {
    const fold = event.target.closest(".fold");
    if (fold) {
      this.on.toggle(fold.closest(".box").dataset.box);
      return;
    }
    const node = event.target.closest(".node");
    this.on.select(node?.dataset.id ?? null);
  }

  #doubleClick(event) {
    const id = event.target.closest(".node")?.dataset.id;
    if (id) this.on.open(id);
  }
}

function outermostFirst(boxes) {
  return [...boxes.filter((box) => !box.parent), ...boxes.filter((box) => box.parent)];
}

function arrows() {
  const one = (id) => s(
    "marker",
    { id, viewBox: "0 0 8 8", refX: 7.2, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse", class: "arrow" },
    s("path", { d: "M0.5 0.8 7.5 4 0.5 7.2Z" }),
  );
  return s("defs", {}, one("arrow"), one("arrow-held"), one("arrow-on"), one("arrow-back"));
}
