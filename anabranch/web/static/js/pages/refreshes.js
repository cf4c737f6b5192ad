// Refreshes as a table: what, when, why, how much, and what went wrong.

import { h } from "../dom.js";
import { at, count, span } from "../format.js";
import { dataTable, outcome, tableLink, when } from "../parts.js";

export function refreshTable(store, records, { named = true } = {}) {
  const columns = [
    { label: "When" },
    ...(named ? [{ label: "Stream table" }] : []),
    { label: "Action" },
    { label: "Outcome" },
    { label: "Why, or what went wrong", class: "wide" },
    { label: "Rows in / out", class: "number" },
    { label: "Took", class: "number" },
    { label: "lsn", class: "number" },
    { label: "By" },
  ];
  const rows = records.map((record) => [
    when(store, record.finished_at),
    ...(named ? [tableLink(store, record.stream_table)] : []),
    h("span", { class: "action" }, record.action.toLowerCase().replace("_", " ")),
    outcome(record),
    because(record),
    record.status === "SUCCEEDED" ? [h("span", { class: "plus" }, `+${count(record.rows_inserted)}`), " ", h("span", { class: "minus" }, `−${count(record.rows_deleted)}`)] : "–",
    span(record.seconds),
    record.lsn ?? "–",
    record.initiated_by,
  ]);
  return dataTable(named ? "Refreshes" : "Refreshes of this stream table", columns, rows);
}

function because(record) {
  const more = [
    record.group_id === null ? null : `group ${record.group_id}${record.epoch === null ? "" : `, epoch ${record.epoch}`}`,
    record.fixpoint_iteration === null ? null : `${record.fixpoint_iteration} passes`,
    record.tick_watermark_lsn === null ? null : `up to lsn ${record.tick_watermark_lsn}`,
    frontier(record),
  ].filter(Boolean);
  // An error's text begins with its code, and its first line is the reason.
  const text = record.error ?? record.reason;
  const reason = record.error && record.reason && !record.error.includes(record.reason) ? h("div", { class: "muted" }, record.reason) : null;
  return h("div", { class: "because" },
    h("div", { class: record.error ? "error-text" : null }, text ?? h("span", { class: "muted" }, "–")), reason,
    more.length > 0 && h("div", { class: "muted small", title: `started ${at(record.started_at)}` }, more.join(" · ")));
}

/** From which lsn to which, per base source that moved. */
function frontier(record) {
  const moved = Object.entries(record.until ?? {}).filter(([source, lsn]) => record.since?.[source] !== lsn);
  if (record.status !== "SUCCEEDED" || moved.length === 0 || moved.length > 3) return null;
  return moved.map(([source, lsn]) => `${source} ${record.since?.[source] ?? "–"} → ${lsn}`).join(", ");
}
