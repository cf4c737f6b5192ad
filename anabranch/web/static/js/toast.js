// Short messages at the edge: what was done stays for a moment, what went wrong until it is closed.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { problem } from "./parts.js";

const MOMENT = 5_000;
const MOST = 4;

export function say(text) {
  const shown = show(h("p", {}, icon("fresh", 14), text), "good");
  setTimeout(() => shown.remove(), MOMENT);
}

export function complain(title, error) {
  show(h("div", {}, h("p", { class: "toast-title" }, title), problem(error)), "bad");
}

function show(content, tone) {
  const area = document.getElementById("toasts");
  const toast = h(
    "div",
    { class: "toast", data: { tone } },
    content,
    h("button", { type: "button", class: "bare", "aria-label": "Close", on: { click: () => toast.remove() } }, icon("close", 12)),
  );
  area.append(toast);
  while (area.children.length > MOST) area.firstElementChild.remove();
  return toast;
}
