// Small pieces that all pages share: states, links, facts, tables, and what to show when there is nothing.

import { h } from "./dom.js";
import { at, ago } from "./format.js";
import { icon } from "./icons.js";

export const tableHref = (node) => `#/${node?.kind === "source" ? "s" : "t"}/${encodeURIComponent(node.name)}`;

/** A sign and a word. */
export function badge(health, text = health.label) {
  return h("span", { class: "badge", data: { tone: health.tone, state: health.key } }, icon(health.key, 14), h("span", {}, text));
}

/** A link to a table's page. */
export function tableLink(store, name) {
  const node = store.nodes.get(name) ?? { name, kind: "stream_table" };
  return h("a", { href: tableHref(node), class: "table-link" }, name);
}

export function links(store, names, none = "none") {
  if (!names.length) return h("span", { class: "muted" }, none);
  return h("ul", { class: "inline-list" }, names.map((name) => h("li", {}, tableLink(store, name))));
}

export function when(store, text) {
  if (!text) return h("span", { class: "muted" }, "never");
  return h("time", { datetime: text, title: at(text) }, ago(text, store.now()));
}

/** Pairs of a word and what stands for it; pairs whose value is null are left out. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined).map(
    ([word, value]) => h("div", {}, h("dt", {}, word), h("dd", {}, value))));
}

/**
 * A table of rows of cells; `columns`: `{label, class?}`. It scrolls by itself where it is too wide; with `stack`,
 * on a phone, each row becomes a list of its cells instead. (Roles are told, because that takes the table's away.)
 */
export function dataTable(caption, columns, rows, { stack = true } = {}) {
  const cell = (content, { label, class: kind }) =>
    h("td", { role: "cell", class: kind, data: typeof label === "string" ? { label } : {} }, Array.isArray(content) ? h("div", {}, content) : content);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { role: "table", class: stack ? "stack" : null },
      h("caption", { class: "unseen" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(({ label, class: kind }) =>
        h("th", { scope: "col", role: "columnheader", class: kind }, label)))),
      h("tbody", { role: "rowgroup" }, rows.map((cells) =>
        h("tr", { role: "row" }, cells.map((content, index) => cell(content, columns[index]))))),
    ),
  );
}

export function loading(what) {
  return h("div", { class: "loading", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), `Loading ${what}…`);
}

export function empty(title, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), ...more);
}

/** What the service said, with its code, detail and hint; `again` may try once more. */
export function problem(error, again = null) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    icon("error", 18),
    h(
      "div",
      {},
      h("p", { class: "problem-title" }, error.code ? h("code", {}, error.code) : null, error.code ? " " : null, error.message),
      error.detail && h("p", {}, error.detail),
      error.hint && h("p", { class: "hint" }, "Hint: ", error.hint),
      again && h("button", { type: "button", on: { click: again } }, "Try again"),
    ),
  );
}

export function section(title, ...content) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), ...content);
}

export function button(label, sign, click, more = {}) {
  return h("button", { type: "button", on: { click }, ...more }, sign ? icon(sign, 14) : null, h("span", {}, label));
}

/** The outcome of a refresh, as a word with a tone. */
export function outcome(record) {
  const tone = { SUCCEEDED: "good", FAILED: "bad", ROLLED_BACK: "warn", SKIPPED: "held" }[record.status] ?? "quiet";
  const sign = { SUCCEEDED: "fresh", FAILED: "failing", ROLLED_BACK: "refresh", SKIPPED: "held" }[record.status] ?? "missing";
  const word = { SUCCEEDED: "succeeded", FAILED: "failed", ROLLED_BACK: "rolled back", SKIPPED: "skipped" }[record.status] ?? record.status;
  return h("span", { class: "badge", data: { tone } }, icon(sign, 13), h("span", {}, word));
}
