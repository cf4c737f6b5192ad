// The history of everything, newest first.

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { empty, loading, problem } from "../parts.js";
import { refreshTable } from "./refreshes.js";

const LIMIT = 300;
const STATUSES = [["", "Every outcome"], ["SUCCEEDED", "Succeeded"], ["FAILED", "Failed"], ["ROLLED_BACK", "Rolled back"], ["SKIPPED", "Skipped"]];

export class HistoryPage {
  #records = null;
  #seen = null;
  #busy = false;

  constructor(store) {
    this.store = store;
    this.title = "History";
    this.name = h("input", { type: "search", placeholder: "Filter by name or text", "aria-label": "Filter by name or text", on: { input: () => this.#show() } });
    this.status = h("select", { "aria-label": "Outcome", on: { change: () => this.#show() } }, STATUSES.map(([value, label]) => h("option", { value }, label)));
    this.body = h("div", {}, loading("the history"));
    this.element = h("div", { class: "page" }, h("div", { class: "page-head" }, h("h1", { class: "grow" }, "History"), h("div", { class: "buttons" }, this.name, this.status)),
      h("div", { class: "card" }, this.body));
  }

  update() {
    const { graph } = this.store;
    if (!graph || this.#busy) return;
    const seen = JSON.stringify([graph.lsn, graph.nodes.map((node) => [node.status?.last_refresh_at, node.status?.consecutive_failures, node.status?.held])]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#load();
  }

  refresh() {
    if (this.#records && !this.body.contains(document.activeElement)) this.#show();
  }

  async #load() {
    this.#busy = true;
    try {
      this.#records = await get(`history?limit=${LIMIT}`);
      this.#show();
    } catch (error) {
      replace(this.body, problem(error, () => this.#load()));
    } finally {
      this.#busy = false;
    }
  }

  #show() {
    const wanted = this.name.value.trim().toLowerCase();
    const found = this.#records.filter((record) => (!this.status.value || record.status === this.status.value)
      && [record.stream_table, record.reason, record.error, record.error_code, record.action].some((text) => text?.toLowerCase().includes(wanted)));
    const scrolled = this.body.querySelector(".scroll")?.scrollLeft ?? 0;
    replace(this.body, found.length ? refreshTable(this.store, found)
      : empty(this.#records.length ? "Nothing in the history is like that" : "Nothing has been refreshed yet"));
    const place = this.body.querySelector(".scroll");
    if (place) place.scrollLeft = scrolled;
  }
}
