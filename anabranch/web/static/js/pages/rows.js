// The first rows of a table.

import { get, quoted } from "../api.js";
import { h, replace } from "../dom.js";
import { count } from "../format.js";
import { dataTable, loading, problem } from "../parts.js";

const LIMIT = 50;
const NUMERIC = /^(tinyint|smallint|int|bigint|float|double|decimal|long)/i;

/** An element that fills itself, and `load()` to fill it anew. */
export function rowsPreview(name) {
  const element = h("div", {}, loading("rows"));
  async function load() {
    try {
      const found = await get(`tables/${quoted(name)}/rows?limit=${LIMIT}`);
      replace(element, shown(found));
    } catch (error) {
      replace(element, problem(error, load));
    }
  }
  return { element, load };
}

function shown({ columns, rows, total_rows: total, lsn }) {
  const note = rows.length === 0 ? "No rows." : rows.length < total ? `${count(rows.length)} of ${count(total)} rows, in no order` : `all ${count(total)} rows`;
  return [
    h("p", { class: "muted" }, note, ` as of lsn ${lsn}`),
    rows.length > 0 && dataTable(
      "Preview of rows",
      columns.map((column) => ({ label: [column.name, h("span", { class: "type" }, column.type)], class: NUMERIC.test(column.type) ? "number" : "cell" })),
      rows.map((row) => row.map(cell)),
      { stack: false },
    ),
  ];
}

function cell(value) {
  if (value === null || value === undefined) return h("span", { class: "null" }, "NULL");
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}
