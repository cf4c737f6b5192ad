// The first page: the graph with its tools, and the selected table beside it.

import { h, replace, set } from "../dom.js";
import { health, STATES } from "../health.js";
import { icon } from "../icons.js";
import { GraphView } from "../graph/view.js";
import { empty, loading, problem, tableHref } from "../parts.js";
import { Inspector } from "./inspector.js";
import { Search } from "./search.js";

const STEPS = 2;

export class GraphPage {
  #filter = null;
  #listed = "";

  constructor(store, actions) {
    this.store = store;
    this.title = "Graph";
    this.view = new GraphView(store, {
      select: (id) => this.select(id),
      open: (id) => this.#open(id),
      toggle: (id) => this.#fold(id),
    });
    this.inspector = new Inspector(store, actions, {
      close: () => { this.select(null); this.view.focus(); },
      goto: (name) => this.goto(name),
      near: (name) => this.#near(name),
      unfold: (id) => this.#unfold(id),
      fold: (id) => this.#fold(id),
    });
    this.search = new Search(store, {
      typed: (names) => this.view.fade(names ?? this.#filtered()),
      chose: (name) => this.goto(name),
    });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Show only" });
    this.fold = h(
      "select",
      { "aria-label": "Collapse", on: { change: () => this.#foldBy(this.fold.value) } },
      h("option", { value: "none" }, "All tables"),
      h("option", { value: "groups" }, "Groups collapsed"),
      h("option", { value: "namespaces" }, "Namespaces collapsed"),
    );
    const tool = (label, sign, click, key) => h(
      "button", { type: "button", class: "bare", "aria-label": label, title: `${label} (${key})`, "aria-keyshortcuts": key, on: { click } }, icon(sign, 14));
    this.tools = h(
      "div",
      { class: "zoom", role: "toolbar", "aria-label": "Zoom" },
      tool("Zoom in", "plus", () => this.view.viewport.zoom(1.3), "+"),
      tool("Zoom out", "minus", () => this.view.viewport.zoom(1 / 1.3), "-"),
      tool("Fit", "fit", () => this.view.fit(), "f"),
    );
    this.stage = h("div", { class: "stage" }, this.view.element, this.tools);
    this.bar = h("div", { class: "bar" }, this.search.element, this.fold, this.chips);
    this.element = h("div", { class: "graph-page" }, h("h1", { class: "unseen" }, "Graph"), this.bar, this.stage, this.inspector.element);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.cover = h("div", { class: "cover" });
    this.stage.append(this.cover);
  }

  /** Called whenever it is shown, and on news from the store. */
  update() {
    const { store } = this;
    const nothing = store.graph && !store.graph.nodes.some((node) => node.kind === "stream_table");
    this.element.dataset.state = !store.graph ? "waiting" : nothing ? "empty" : "ready";
    if (!store.graph) {
      replace(this.cover, store.error && !store.error.unauthorized ? problem(store.error, () => store.refetch()) : loading("the graph"));
      return;
    }
    if (nothing) {
      replace(this.cover, store.graph.nodes.length ? noStreamTables(store.graph.nodes.length) : noTables());
    } else {
      this.cover.replaceChildren();
    }
    if (!this.view.svg.isConnected || this.view.svg.clientWidth === 0) return;
    this.view.update();
    this.#chips();
    this.#inspect();
  }

  /** Time passed, or a refresh began or ended. */
  refresh() {
    if (!this.store.graph) return;
    this.view.refresh();
    this.#chips();
    this.#inspect();
  }

  select(id, options) {
    this.view.select(id, options);
    this.#inspect();
  }

  goto(name) {
    if (!this.view.itemOf(name)) {
      this.view.choice.near = null;
      this.view.update();
    }
    const item = this.view.itemOf(name);
    if (item) this.select(item.id, { reveal: true, focus: true });
  }

  #inspect() {
    const item = this.view.items.find(({ id }) => id === this.view.selected) ?? null;
    const box = item && shownBox(this.view, item.id);
    this.inspector.show(item, { near: Boolean(this.view.choice.near), box });
  }

  #near(name) {
    this.view.choice.near = this.view.choice.near ? null : { name, steps: STEPS };
    this.view.update();
    this.view.fit();
    this.#inspect();
  }

  #foldBy(kind) {
    Object.assign(this.view.choice, { fold: kind, folded: new Set(), unfolded: new Set() });
    this.view.update();
    this.view.fit();
    this.#inspect();
  }

  #fold(id) {
    this.view.choice.folded.add(id);
    this.view.choice.unfolded.delete(id);
    this.view.update();
    this.select(id, { reveal: true, focus: true });
  }

  #unfold(id) {
    const item = this.view.items.find((each) => each.id === id);
    this.view.choice.folded.delete(id);
    this.view.choice.unfolded.add(id);
    this.view.update();
    if (item) this.select(item.names[0], { reveal: true, focus: true });
  }

  #open(id) {
    const item = this.view.items.find((each) => each.id === id);
    if (item?.kind === "folded") this.#unfold(id);
    else if (item) location.hash = tableHref(this.store.nodes.get(id));
  }

  #filtered() {
    if (!this.#filter) return null;
    const now = this.store.now();
    return new Set(this.store.graph.nodes
      .filter((node) => health(node, this.store.sampledAt, now).key === this.#filter)
      .map((node) => node.name));
  }

  /** How many tables are in each state; a press shows only those. */
  #chips() {
    const now = this.store.now();
    const counts = new Map();
    for (const node of this.store.graph.nodes) {
      const { key } = health(node, this.store.sampledAt, now);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    if (this.#filter && !counts.has(this.#filter)) this.#filter = null;
    const listed = JSON.stringify([[...counts].sort(), this.#filter]);
    if (listed === this.#listed) return;
    this.#listed = listed;
    const focused = this.chips.contains(document.activeElement) ? document.activeElement.dataset.state : null;
    replace(this.chips, Object.entries(STATES).filter(([key]) => counts.has(key)).map(([key, { label, tone }]) => h(
      "button",
      {
        type: "button", class: "chip", data: { tone, state: key }, "aria-pressed": String(this.#filter === key),
        on: { click: () => this.#toggle(key) },
      },
      icon(key, 13), h("span", {}, label), h("b", {}, String(counts.get(key))),
    )));
    if (focused) this.chips.querySelector(`[data-state="${focused}"]`)?.focus();
    this.view.fade(this.#filtered());
  }

  #toggle(key) {
    this.#filter = this.#filter === key ? null : key;
    this.chips.querySelectorAll(".chip").forEach((chip) => set(chip, "aria-pressed", String(chip.dataset.state === this.#filter)));
    this.view.fade(this.#filtered());
  }

  #key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const node = event.target.closest(".node");
    const { view } = this;
    const done = () => event.preventDefault();
    if (event.key === "Escape") {
      if (view.selected) this.select(null);
      else if (view.choice.near) this.#near();
      if (!this.view.svg.contains(event.target)) view.focus();
    } else if (event.key === "+" || event.key === "=") {
      view.viewport.zoom(1.3);
    } else if (event.key === "-") {
      view.viewport.zoom(1 / 1.3);
    } else if (event.key === "f" || event.key === "0") {
      view.fit();
    } else if (node && event.key.startsWith("Arrow")) {
      view.step(event.key);
      done();
    } else if (node && (event.key === "Enter" || event.key === " ")) {
      done();
      const { id } = node.dataset;
      if (event.key === "Enter" && view.selected === id) this.#open(id);
      else this.select(id);
    } else if (node && event.key === "c") {
      const box = shownBox(view, node.dataset.id);
      if (box) this.#fold(box.id);
    }
  }
}

const shownBox = (view, id) => view.boxes.find((box) => box.members.includes(id)) ?? null;

function noTables() {
  return empty(
    "This lake has no tables yet",
    h("p", {}, "Make a source, and a stream table over it:"),
    example(),
  );
}

function noStreamTables(sources) {
  return empty(
    "No stream tables yet",
    h("p", {}, sources === 1 ? "There is one source. A query over it" : `There are ${sources} sources. A query over them`, " becomes a stream table:"),
    example("CREATE STREAM TABLE totals\nWITH (schedule = '1m')\nAS SELECT region, SUM(amount) AS total\n   FROM orders GROUP BY region"),
  );
}

const example = (text = "CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2));\n\n"
  + "CREATE STREAM TABLE totals\nWITH (schedule = '1m')\nAS SELECT region, SUM(amount) AS total\n   FROM orders GROUP BY region;") =>
  h("div", {}, h("pre", { class: "sql", tabindex: 0, "aria-label": "Example" }, h("code", {}, text)),
    h("p", { class: "muted" }, "Run it with ", h("code", {}, "anabranch sql"), " or ", h("code", {}, "lake.sql(…)"), "; this page shows it as soon as it is there."));
