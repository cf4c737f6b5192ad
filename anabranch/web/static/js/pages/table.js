// A stream table's page: how it is, what it is, how it is maintained, what happened, what is in it.

import { get, quoted } from "../api.js";
import { chart } from "../chart.js";
import { h, replace } from "../dom.js";
import { at, count, plural, span } from "../format.js";
import { health, lagNow } from "../health.js";
import { badge, facts, links, loading, problem, section, when } from "../parts.js";
import { sqlBlock } from "../sql.js";
import { mode, schedule, tableButtons } from "./inspector.js";
import { refreshTable } from "./refreshes.js";
import { rowsPreview } from "./rows.js";

const HISTORY = 200;
const LISTED = 50;

export class TablePage {
  #seen = null;
  #query = null;
  #busy = false;
  #records = null;
  #width = 0;

  constructor(store, actions, name) {
    Object.assign(this, { store, actions, name, title: name });
    this.head = h("div", { class: "page-head" }, h("h1", {}, name), loading("its state"));
    this.state = h("div", {}, loading("its state"));
    this.definition = h("div", {}, loading("the definition"));
    this.explained = h("div", {}, loading("how it is maintained"));
    this.drawn = h("div", {}, loading("the chart"));
    this.history = h("div", {}, loading("the history"));
    this.rows = rowsPreview(name);
    this.element = h(
      "div",
      { class: "page" },
      this.head,
      h(
        "div",
        { class: "two" },
        section("State", this.state),
        section("Definition", this.definition),
      ),
      section("Lag and duration", this.drawn),
      section("How it is maintained", this.explained),
      section("History", this.history),
      section("Rows", this.rows.element),
    );
    new ResizeObserver(() => {
      if (this.drawn.clientWidth === this.#width) return;
      this.#width = this.drawn.clientWidth;
      this.#chart();
    }).observe(this.drawn);
  }

  update() {
    const node = this.store.nodes.get(this.name);
    // Every commit moves the lake; only what concerns this table is fetched again.
    const seen = JSON.stringify([node?.status && { ...node.status, lag_seconds: null, data_timestamp: null }, node?.rows]);
    if (this.store.graph && seen !== this.#seen) {
      this.#seen = seen;
      this.#load();
    }
    this.refresh();
  }

  refresh() {
    const node = this.store.nodes.get(this.name);
    if (node?.status) this.#head(node);
  }

  async #load() {
    if (this.#busy) return;
    this.#busy = true;
    const path = `stream-tables/${quoted(this.name)}`;
    try {
      const [found, records] = await Promise.all([get(path), get(`${path}/history?limit=${HISTORY}`)]);
      replace(this.state, this.#state(found));
      this.#records = records;
      this.#chart();
      replace(this.history, records.length ? refreshTable(this.store, records.slice(0, LISTED), { named: false }) : h("p", { class: "muted" }, "It was never refreshed."));
      if (this.#query !== found.query) {
        this.#query = found.query;
        replace(this.definition, this.#definition(found));
        this.#explain(path);
      }
      this.rows.load();
    } catch (error) {
      const again = () => this.#load();
      if (!this.store.nodes.has(this.name)) replace(this.head, h("h1", {}, this.name));
      for (const place of [this.definition, this.explained, this.drawn, this.history, this.rows.element]) place.replaceChildren();
      replace(this.state, problem(error, error.code === "AB601" ? null : again));
      this.#query = null;
    } finally {
      this.#busy = false;
    }
  }

  /** Drawn at the width there is: its text is as large as all other text. */
  #chart() {
    if (!this.#records || !this.drawn.clientWidth) return;
    const open = this.drawn.querySelector("details")?.open;
    replace(this.drawn, chart(this.name, this.#records, Math.max(300, Math.min(1000, this.drawn.clientWidth))));
    if (open) this.drawn.querySelector("details").open = true;
  }

  #head(node) {
    const { status } = node;
    const state = health(node, this.store.sampledAt, this.store.now());
    const text = JSON.stringify([state, status.status, status.fuse_state, this.store.running.has(this.name)]);
    if (this.head.dataset.shown === text) return;
    const focused = this.head.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.head.dataset.shown = text;
    replace(
      this.head,
      h("div", { class: "grow" },
        h("p", { class: "crumb" }, h("a", { href: "#/list" }, "Stream tables"), " / "),
        h("h1", {}, this.name),
        h("p", { class: "state-line" }, badge(state, state.text),
          this.store.running.has(this.name) && h("span", { class: "badge", data: { tone: "on" } }, h("span", { class: "spinner", "aria-hidden": "true" }), "refreshing"),
          state.why && h("span", { class: "reason", data: { tone: state.tone } }, state.why))),
      h("div", { class: "buttons" }, tableButtons(this.actions, status, { full: true })),
    );
    if (focused) this.head.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #state({ status, reads, read_by: readBy, group, cycle, fuse }) {
    const { store } = this;
    const others = group.filter((name) => name !== this.name);
    return facts([
      ["status", [status.status, status.status_reason && h("div", { class: "muted" }, status.status_reason)]],
      ["lag", span(lagNow(status, store.sampledAt, store.now()))],
      ["reflects everything until", at(status.data_timestamp)],
      ["refreshed", when(store, status.last_refresh_at)],
      ["schedule", schedule(status)],
      ["mode", [mode(status), status.mode_reason && h("div", { class: "muted" }, status.mode_reason)]],
      ["rows", count(status.rows)],
      ["failures in a row", status.consecutive_failures ? count(status.consecutive_failures) : null],
      ["last error", status.last_error && h("span", { class: "error-text" }, status.last_error)],
      ["held", status.status === "ACTIVE" ? status.held : null],
      ["gated by", status.gated_by_sources.length ? links(store, status.gated_by_sources) : null],
      ["reads", links(store, reads)],
      ["read by", links(store, readBy, "nobody")],
      ["moves together with", others.length ? links(store, others) : null],
      ["in a cycle with", cycle.length ? links(store, cycle.filter((name) => name !== this.name), "itself") : null],
      ["fuse", fuse && fuse.state !== "off" ? fuseText(fuse) : null],
    ]);
  }

  #definition({ query, options, columns }) {
    const given = Object.entries(options).filter(([key, value]) => value !== null && !["name", "query", "initialize"].includes(key));
    return [
      sqlBlock(query, "Query"),
      h("details", { open: true }, h("summary", {}, `${plural(columns.length, "column")}, ${plural(given.length, "option")}`),
        h("div", { class: "two tight" },
          facts(columns.map((column) => [column.name, h("code", {}, column.type)])),
          facts(given.map(([key, value]) => [key, String(value)])))),
    ];
  }

  async #explain(path) {
    const load = async () => {
      try {
        replace(this.explained, explanation(await get(`${path}/explain`)));
      } catch (error) {
        replace(this.explained, problem(error, load));
      }
    };
    await load();
  }
}

function fuseText(fuse) {
  const ceiling = fuse.effective_ceiling === null ? "no ceiling yet" : `ceiling ${count(fuse.effective_ceiling)}`;
  const pending = fuse.pending_changes === null ? "" : `, ${plural(fuse.pending_changes, "change")} waiting`;
  return [`${fuse.state} (${fuse.mode}), ${ceiling}${pending}`, fuse.reason && h("div", { class: "muted" }, fuse.reason)];
}

function explanation({ incremental, operators, change_query: changeQuery, why_not: whyNot, text }) {
  return [
    h("p", {}, incremental ? "It is maintained incrementally." : "It is computed in full."),
    whyNot && h("p", { class: "reason", data: { tone: "warn" } }, whyNot),
    operators.length > 0 && h("ol", { class: "operators", "aria-label": "Operators" }, operators.map((each) => h(
      "li",
      { data: { depth: Math.min(each.depth, 12) } },
      h("span", { class: "operator" }, each.operator),
      h("span", { class: "strategy" }, each.strategy),
      each.reason && h("span", { class: "muted" }, each.reason),
    ))),
    changeQuery && h("details", {}, h("summary", {}, "Change query, in Spark SQL"), sqlBlock(changeQuery, "Change query")),
    text && h("details", {}, h("summary", {}, "As text"), h("pre", { class: "plain", tabindex: 0, "aria-label": "Explanation" }, text)),
  ];
}
