// Sources: whether they are ready, how far they are loaded, and who waits for them.

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { at, count, span } from "../format.js";
import { health } from "../health.js";
import { badge, dataTable, empty, facts, links, loading, problem, section, tableLink, when } from "../parts.js";
import { gateButton } from "./inspector.js";
import { rowsPreview } from "./rows.js";

/** What has to be the same for nothing to be fetched again. */
const stamp = (store) => JSON.stringify([store.graph?.lsn, store.graph?.nodes.filter((node) => node.kind === "source")]);

export class SourcesPage {
  #seen = null;

  constructor(store, actions) {
    Object.assign(this, { store, actions, title: "Sources" });
    this.body = h("div", {}, loading("the sources"));
    this.groups = h("div");
    this.element = h("div", { class: "page" }, h("div", { class: "page-head" }, h("h1", {}, "Sources")),
      h("div", { class: "card" }, this.body), this.groups);
  }

  update() {
    if (!this.store.graph || this.#seen === stamp(this.store)) return;
    this.#seen = stamp(this.store);
    this.#load();
  }

  refresh() {}

  async #load() {
    try {
      const [sources, groups] = await Promise.all([get("sources"), get("watermark-groups")]);
      const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      replace(this.body, sources.length ? this.#table(sources) : empty("This lake has no sources yet"));
      replace(this.groups, groups.length > 0 && section("Watermark groups", groupTable(this.store, groups)));
      if (focused) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    } catch (error) {
      replace(this.body, problem(error, () => this.#load()));
    }
  }

  #table(sources) {
    const { store } = this;
    const node = (source) => store.nodes.get(source.name) ?? { name: source.name, kind: "source", rows: source.rows, gated: Boolean(source.gate?.gated), missing: false };
    return dataTable(
      "Sources",
      [{ label: "Name" }, { label: "State" }, { label: "Watermark" }, { label: "Rows", class: "number" }, { label: "lsn", class: "number" }, { label: "Read by", class: "wide" }, { label: "" }],
      sources.map((source) => {
        const state = health({ ...node(source), gated: Boolean(source.gate?.gated) }, store.sampledAt, store.now());
        const act = gateButton(this.actions, { ...node(source), gated: Boolean(source.gate?.gated) });
        if (act) act.dataset.key = `gate-${source.name}`;
        return [
          tableLink(store, source.name),
          [badge(state, state.key === "source" ? "ready" : state.text), source.gate?.gated && h("div", { class: "muted small" }, `by ${source.gate.gated_by}, since `, when(store, source.gate.gated_at))],
          source.watermark?.watermark ? h("time", { datetime: source.watermark.watermark }, at(source.watermark.watermark)) : h("span", { class: "muted" }, "none"),
          count(source.rows), source.lsn ?? "–", links(store, source.read_by, "nobody"), act,
        ];
      }),
    );
  }
}

function groupTable(store, groups) {
  return dataTable(
    "Watermark groups",
    [{ label: "Group" }, { label: "Sources", class: "wide" }, { label: "Aligned" }, { label: "Apart", class: "number" }, { label: "Tolerance", class: "number" }, { label: "Without a watermark" }],
    groups.map((group) => [
      group.group_name, links(store, group.sources),
      badge(group.aligned ? { key: "fresh", tone: "good", label: "aligned" } : { key: "held", tone: "held", label: "not aligned" }),
      span(group.lag_seconds), span(group.tolerance_seconds), group.missing === "gated" ? "they wait" : "left out",
    ]),
  );
}

export class SourcePage {
  #seen = null;

  constructor(store, actions, name) {
    Object.assign(this, { store, actions, name, title: name });
    this.head = h("div", { class: "page-head" }, h("h1", {}, name));
    this.state = h("div", {}, loading("its state"));
    this.rows = rowsPreview(name);
    this.element = h("div", { class: "page" }, this.head, section("State", this.state), section("Rows", this.rows.element));
  }

  update() {
    if (!this.store.graph || this.#seen === stamp(this.store)) return;
    this.#seen = stamp(this.store);
    this.#load();
  }

  refresh() {}

  async #load() {
    const { store } = this;
    try {
      const source = (await get("sources")).find((each) => each.name === this.name);
      const node = store.nodes.get(this.name);
      if (!source || !node) {
        replace(this.state, empty(node?.missing ? "This source is read, but there is no such table" : "There is no source of this name",
          node && h("p", {}, "read by ", links(store, store.readers.get(this.name)))));
        this.rows.element.replaceChildren();
        return;
      }
      const state = health(node, store.sampledAt, store.now());
      replace(this.head, h("div", { class: "grow" }, h("p", { class: "crumb" }, h("a", { href: "#/sources" }, "Sources"), " / "), h("h1", {}, this.name),
        h("p", { class: "state-line" }, badge(state, state.key === "source" ? "ready" : state.text), state.why && h("span", { class: "reason", data: { tone: state.tone } }, state.why))),
      h("div", { class: "buttons" }, gateButton(this.actions, node)));
      replace(this.state, facts([
        ["rows", count(source.rows)],
        ["last written by lsn", source.lsn],
        ["gated", source.gate?.gated ? [when(store, source.gate.gated_at), ` by ${source.gate.gated_by}`] : null],
        ["what waits", source.gate?.gated ? links(store, source.gate.affected_stream_tables, "nothing") : null],
        ["watermark", source.watermark?.watermark ? at(source.watermark.watermark) : "none"],
        ["advanced", source.watermark?.advanced_at ? when(store, source.watermark.advanced_at) : null],
        ["read by", links(store, source.read_by, "nobody")],
        ["columns", h("ul", { class: "inline-list" }, source.columns.map((column) => h("li", {}, column.name, " ", h("code", {}, column.type))))],
      ]));
      this.rows.load();
    } catch (error) {
      replace(this.state, problem(error, () => this.#load()));
    }
  }
}
