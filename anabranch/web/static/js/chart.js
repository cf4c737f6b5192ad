// Lag and duration of a stream table over time: two panels over one axis, and the same as a table.

import { h, s } from "./dom.js";
import { at, calendarDay, clockTime, span } from "./format.js";
import { dataTable } from "./parts.js";

const FRAME = { panel: 92, left: 58, right: 14, gap: 30, top: 20, bottom: 26 };
const DAY = 86_400_000;

/**
 * `records`: refreshes, newest first. The lag of a refresh is how old the oldest change it could have
 * missed was when it published: the time since the refresh before began to read.
 */
export function points(records) {
  const found = [];
  let read = null;
  for (const record of [...records].reverse()) {
    if (record.status === "SKIPPED") continue;
    const end = Date.parse(record.finished_at);
    const succeeded = record.status === "SUCCEEDED";
    found.push({
      at: end, duration: record.seconds, lag: succeeded && read !== null ? (end - read) / 1000 : null,
      failed: !succeeded, action: record.action, status: record.status,
    });
    if (succeeded) read = Date.parse(record.started_at);
  }
  return found;
}

/** A drawing that is `width` pixels wide, and the table. */
export function chart(name, records, width) {
  const found = points(records);
  if (found.length < 2) return h("p", { class: "muted" }, "There is a chart as soon as there are two refreshes.");
  const from = found[0].at;
  const to = Math.max(found.at(-1).at, from + 1000);
  const { panel, left, right, gap, top, bottom } = FRAME;
  const height = top + 2 * panel + gap + bottom;
  const x = (time) => left + ((time - from) / (to - from)) * (width - left - right);
  const drawing = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img", "aria-label": summary(name, found) },
    durations(found, x, top, width),
    lags(found, x, top + panel + gap, width),
    axis(from, to, x, height - bottom),
  );
  return h("div", { class: "chart-box" }, drawing, asTable(found));
}

function scale(values, y, panel) {
  const most = nice(Math.max(...values, 0.001));
  return { most, to: (value) => y + panel - (value / most) * panel };
}

/** The next round number of seconds. */
function nice(value) {
  for (const step of [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400]) {
    if (value <= step) return step;
  }
  return Math.ceil(value / 86400) * 86400;
}

function panelFrame(title, most, y, width) {
  const { panel, left, right } = FRAME;
  return [
    s("text", { x: left, y: y - 7, class: "panel-title" }, title),
    [0, 0.5, 1].map((part) => s("g", {},
      s("line", { x1: left, x2: width - right, y1: y + panel * (1 - part), y2: y + panel * (1 - part), class: "rule" }),
      s("text", { x: left - 8, y: y + panel * (1 - part) + 4, class: "tick", "text-anchor": "end" }, span(most * part)))),
  ];
}

function durations(found, x, y, width) {
  const { panel } = FRAME;
  const { most, to } = scale(found.map((point) => point.duration), y, panel);
  return s("g", {}, panelFrame("Duration of each refresh (× failed)", most, y, width), found.map((point) => {
    const px = x(point.at);
    const py = to(point.duration);
    const title = s("title", {}, `${at(new Date(point.at).toISOString())}: ${span(point.duration)}, ${point.status.toLowerCase()}`);
    return point.failed
      ? s("path", { d: `M${px - 4} ${py - 4}l8 8m0-8l-8 8`, class: "point failed" }, title)
      : s("g", { class: "point" }, title,
          s("line", { x1: px, x2: px, y1: y + panel, y2: py, class: "stem" }), s("circle", { cx: px, cy: py, r: 2.6 }));
  }));
}

/** Lag grows until a refresh publishes, then falls back to what that refresh took. */
function lags(found, x, y, width) {
  const { panel } = FRAME;
  const known = found.filter((point) => !point.failed);
  const { most, to } = scale(known.map((point) => point.lag ?? point.duration), y, panel);
  let path = "";
  for (const point of known) {
    const px = x(point.at).toFixed(1);
    if (point.lag === null) path += `M${px} ${to(point.duration).toFixed(1)}`;
    else path += `L${px} ${to(point.lag).toFixed(1)}L${px} ${to(point.duration).toFixed(1)}`;
  }
  return s("g", {}, panelFrame("Lag, at most", most, y, width), s("path", { d: path, class: "lag" }));
}

function axis(from, to, x, y) {
  const label = to - from > 2 * DAY ? calendarDay : clockTime;
  return s("g", {}, [0, 1 / 3, 2 / 3, 1].map((part) => {
    const time = from + (to - from) * part;
    return s("text", { x: x(time), y: y + 18, class: "tick", "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle" }, label(time));
  }));
}

function summary(name, found) {
  const mean = found.reduce((sum, point) => sum + point.duration, 0) / found.length;
  const failed = found.filter((point) => point.failed).length;
  const worst = Math.max(...found.map((point) => point.lag ?? 0));
  return `${found.length} refreshes of ${name}: ${span(mean)} on average, ${failed} failed, lag at most ${span(worst)}. The same as a table below.`;
}

function asTable(found) {
  const columns = [{ label: "Finished" }, { label: "Outcome" }, { label: "Duration", class: "number" }, { label: "Lag, at most", class: "number" }];
  const rows = [...found].reverse().map((point) =>
    [at(new Date(point.at).toISOString()), point.status.toLowerCase().replace("_", " "), span(point.duration), span(point.lag)]);
  return h("details", {}, h("summary", {}, "Show as a table"), dataTable("Duration and lag", columns, rows));
}
