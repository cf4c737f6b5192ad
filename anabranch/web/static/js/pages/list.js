// Every stream table in a list: the same as the graph, for those who would rather read.

import { h, replace } from "../dom.js";
import { count, span } from "../format.js";
import { health, lagNow, RANK } from "../health.js";
import { badge, dataTable, empty, loading, problem, tableLink, when } from "../parts.js";
import { mode, schedule } from "./inspector.js";

const ORDERS = {
  "what needs attention": (a, b) => RANK[a.state.key] - RANK[b.state.key],
  name: () => 0,
  lag: (a, b) => (b.lag ?? -1) - (a.lag ?? -1),
  rows: (a, b) => b.node.rows - a.node.rows,
};

export class ListPage {
  #shown = "";

  constructor(store) {
    this.store = store;
    this.title = "Tables";
    this.filter = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name", on: { input: () => this.update() } });
    this.order = h("select", { "aria-label": "Order", on: { change: () => this.update() } },
      Object.keys(ORDERS).map((word) => h("option", { value: word }, `Order by ${word}`)));
    this.body = h("div", {}, loading("the stream tables"));
    this.element = h("div", { class: "page" }, h("div", { class: "page-head" }, h("h1", { class: "grow" }, "Stream tables"),
      h("div", { class: "buttons" }, this.filter, this.order)), h("div", { class: "card" }, this.body));
  }

  update() {
    const { store } = this;
    if (!store.graph) {
      if (store.error) replace(this.body, problem(store.error, () => store.refetch()));
      return;
    }
    const now = store.now();
    const wanted = this.filter.value.trim().toLowerCase();
    const entries = store.graph.nodes
      .filter((node) => node.status && node.name.toLowerCase().includes(wanted))
      .map((node) => ({ node, state: health(node, store.sampledAt, now), lag: lagNow(node.status, store.sampledAt, now) }))
      .sort((a, b) => ORDERS[this.order.value](a, b) || (a.node.name < b.node.name ? -1 : 1));
    const shown = JSON.stringify([entries.map(({ node, state }) => [node.name, state, node.rows]), [...store.running], Math.floor(now / 5000)]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (!entries.length) {
      replace(this.body, empty(wanted ? "No stream table has this in its name" : "No stream tables yet"));
      return;
    }
    // The place in the list, and the link that has the focus, survive the news.
    const focused = this.body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const scrolled = this.body.querySelector(".scroll")?.scrollLeft ?? 0;
    replace(this.body, dataTable(
      "Stream tables",
      [{ label: "Name" }, { label: "State" }, { label: "Lag", class: "number" }, { label: "Refreshed" }, { label: "Schedule" }, { label: "Mode" },
        { label: "Rows", class: "number" }, { label: "Why", class: "wide" }],
      entries.map(({ node, state, lag }) => [
        tableLink(store, node.name), badge(state, store.running.has(node.name) ? "refreshing" : state.text), span(lag), when(store, node.status.last_refresh_at),
        schedule(node.status), mode(node.status), count(node.rows), state.why ?? "",
      ]),
    ));
    this.body.querySelector(".scroll").scrollLeft = scrolled;
    if (focused) this.body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  refresh() {
    this.update();
  }
}
