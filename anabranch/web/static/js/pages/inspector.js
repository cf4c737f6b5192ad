// Beside the graph: the selected table in short, or what needs attention while nothing is selected.

import { h, replace } from "../dom.js";
import { count, few, span } from "../format.js";
import { health, lagNow, RANK, STATES } from "../health.js";
import { icon } from "../icons.js";
import { badge, button, facts, links, tableHref, when } from "../parts.js";

const LISTED = 40;

export class Inspector {
  #shown = "";

  /** `on`: `close()`, `goto(name)`, `near(name)`, `unfold(id)`, `fold(id)`. */
  constructor(store, actions, on) {
    Object.assign(this, { store, actions, on });
    this.element = h("aside", { class: "inspector", "aria-label": "Selected table" });
  }

  /** `item`: what is selected in the graph, or null; `near`: whether only its neighbourhood is drawn. */
  show(item, { near = false, box = null } = {}) {
    const content = !item ? this.#overview() : item.kind === "folded" ? this.#folded(item) : this.#table(item.names[0], near, box);
    // Whoever reads or presses something here keeps their place if nothing changed.
    const text = (item?.id ?? "") + content.textContent;
    this.element.dataset.open = item ? "yes" : "no";
    if (text === this.#shown && this.element.childElementCount) return;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.#shown = text;
    replace(this.element, content);
    if (focused) this.element.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #states() {
    const now = this.store.now();
    return this.store.graph.nodes.map((node) => ({ node, state: health(node, this.store.sampledAt, now) }));
  }

  #overview() {
    const troubled = this.#states()
      .filter(({ state }) => RANK[state.key] < RANK.pending)
      .sort((a, b) => RANK[a.state.key] - RANK[b.state.key]);
    return h(
      "div",
      {},
      h("h2", {}, troubled.length ? "Needs attention" : this.store.connection === "live" ? "All is well" : "All was well"),
      troubled.length === 0 && h("p", { class: "muted" }, "No stream table is late, held or failing."),
      h(
        "ul",
        { class: "attention" },
        troubled.slice(0, LISTED).map(({ node, state }) => h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "row", data: { tone: state.tone, key: `see-${node.name}` }, on: { click: () => this.on.goto(node.name) } },
            icon(state.key, 16),
            h("span", { class: "grow" }, h("strong", {}, node.name), h("span", { class: "why" }, state.why ?? state.text)),
          ),
        )),
      ),
      troubled.length > LISTED && h("p", { class: "muted" }, `and ${troubled.length - LISTED} more: see `, h("a", { href: "#/list" }, "all tables")),
      this.store.lake?.scheduler === "stopped" && h("div", { class: "scheduler-note" },
        h("p", { class: "muted" }, "No scheduler runs in this service; stream tables wait for another one, or for you."),
        h("div", { class: "buttons" }, button("Tick once", "play", () => this.actions.tick(), { data: { key: "tick" } }))),
      legend(),
    );
  }

  #folded(item) {
    return h(
      "div",
      {},
      this.#head(item.label, item.group.title),
      h("div", { class: "buttons" }, button("Expand", "plus", () => this.on.unfold(item.id), { data: { key: "unfold" }, class: "primary" })),
      h("ul", { class: "attention" }, item.names.map((name) => {
        const state = health(this.store.nodes.get(name), this.store.sampledAt, this.store.now());
        return h("li", {}, h("a", { class: "row", href: tableHref(this.store.nodes.get(name)), data: { tone: state.tone } },
          icon(state.key, 16), h("span", { class: "grow" }, h("strong", {}, name), h("span", { class: "why" }, state.text))));
      })),
    );
  }

  #head(title, note) {
    return h(
      "div",
      { class: "inspector-head" },
      h("div", { class: "grow" }, h("h2", {}, title), h("p", { class: "muted" }, note)),
      h("button", { type: "button", class: "bare", "aria-label": "Close", data: { key: "close" }, on: { click: this.on.close } }, icon("close", 14)),
    );
  }

  #table(name, near, box) {
    const { store } = this;
    const node = store.nodes.get(name);
    const state = health(node, store.sampledAt, store.now());
    const isSource = node.kind === "source";
    const open = h("a", { class: "button primary", href: tableHref(node), data: { key: "open" } }, icon("open", 14), h("span", {}, "Open"));
    return h(
      "div",
      {},
      this.#head(name, isSource ? "source" : "stream table"),
      h("p", { class: "state-line" }, badge(state, state.key === "source" ? "ready" : state.text), store.running.has(name) && h("span", { class: "badge", data: { tone: "on" } }, h("span", { class: "spinner", "aria-hidden": "true" }), "refreshing")),
      state.why && h("p", { class: "reason", data: { tone: state.tone } }, state.why),
      h(
        "div",
        { class: "buttons" },
        open,
        isSource ? this.gateButton(node) : tableButtons(this.actions, node.status),
        button(near ? "Show all" : "Only its neighbours", "near", () => this.on.near(name), { data: { key: "near" }, "aria-pressed": String(near) }),
        box && button(`Collapse ${box.label}`, "minus", () => this.on.fold(box.id), { data: { key: "fold" } }),
      ),
      isSource ? facts([["rows", count(node.rows)], ["read by", links(store, store.readers.get(name), "nobody")]]) : facts([
        ["lag", span(lagNow(node.status, store.sampledAt, store.now()))],
        ["refreshed", when(store, node.status.last_refresh_at)],
        ["schedule", schedule(node.status)],
        ["mode", mode(node.status)],
        ["rows", few(node.status.rows)],
        ["reads", links(store, store.reads.get(name))],
        ["read by", links(store, store.readers.get(name), "nobody")],
      ]),
    );
  }

  gateButton(node) {
    return gateButton(this.actions, node);
  }
}

/** Gate or ungate, whichever makes sense. */
export function gateButton(actions, node) {
  if (node.missing) return null;
  return node.gated
    ? button("Ungate", "gated", () => actions.ungate(node.name), { data: { key: "gate" } })
    : button("Gate", "gated", () => actions.gate(node.name), { data: { key: "gate" } });
}

/** What can be done to a stream table in its state. */
export function tableButtons(actions, status, { full = false } = {}) {
  const { name } = status;
  const stopped = status.status === "SUSPENDED" || status.status === "ERROR";
  return [
    button("Refresh", "refresh", () => actions.refresh(name), { data: { key: "refresh" } }),
    full && button("Full refresh", "refresh", () => actions.refresh(name, true), { data: { key: "full" } }),
    status.fuse_state === "blown" && button("Reset fuse", "fuse", () => actions.resetFuse(name), { data: { key: "fuse" } }),
    stopped
      ? button("Resume", "play", () => actions.resume(name), { data: { key: "resume" } })
      : button("Suspend", "suspended", () => actions.suspend(name), { data: { key: "suspend" } }),
  ];
}

export function schedule(status) {
  if (status.schedule === null) return "by hand only";
  if (status.schedule === status.effective_schedule) return status.schedule;
  return `${status.schedule} (${status.effective_schedule ?? "by hand only"})`;
}

export function mode(status) {
  const { refresh_mode: asked, effective_mode: used } = status;
  return !used || used === asked ? asked : `${asked} (${used})`;
}

function legend() {
  const words = Object.entries(STATES).map(([key, { label, tone }]) =>
    h("li", { data: { tone } }, icon(key, 14), h("span", {}, label)));
  return h("details", { class: "legend" }, h("summary", {}, "What the signs mean"), h("ul", {}, words),
    h("p", { class: "muted" }, "Round ends: a source. Square: a stream table. A stack: collapsed tables. A box: tables that move together. "
      + "Dashed lines wait for a gate."));
}

