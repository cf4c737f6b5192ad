// One table of the graph: its shape says what it is, its sign and text how it is doing.

import { s, set, setText } from "../dom.js";
import { few, namespaceOf, plural } from "../format.js";
import { changeIcon, iconPath } from "../icons.js";
import { cut, cutEnd } from "./text.js";

export const SIZE = { width: 188, height: 46 };
const TEXT = { x: 42, width: 138 };

export class NodeShape {
  constructor(item) {
    this.item = item;
    const { width, height } = SIZE;
    const folded = item.kind === "folded";
    this.sign = iconPath("fresh");
    this.name = s("text", { x: TEXT.x, y: 19, class: "name" });
    this.line = s("text", { x: TEXT.x, y: 35, class: "line" });
    this.big = s("text", { x: TEXT.x + 4, y: 31, class: "big" });
    this.huge = s("text", { x: TEXT.x + 4, y: 33, class: "huge" });
    this.body = s("rect", { width, height, rx: 6, class: "body" });
    this.halo = s("rect", { x: -4, y: -4, width: width + 8, height: height + 8, rx: 9, class: "halo" });
    this.tip = s("title");
    this.group = s(
      "g",
      { class: "node", role: "button", tabindex: -1, data: { id: item.id, form: item.kind } },
      this.tip,
      folded && s("rect", { x: 5, y: 5, width, height, rx: 6, class: "behind" }),
      this.halo,
      this.body,
      s("rect", { x: 7, y: 9, width: 28, height: 28, rx: 5, class: "plate" }),
      s("g", { transform: "translate(12.5 14.5) scale(1.06)" }, this.sign),
      s("circle", { cx: 21, cy: 23, r: 17, class: "turning" }),
      this.name,
      this.line,
      this.big,
      this.huge,
    );
    this.#write();
  }

  #write() {
    const { item } = this;
    const label = item.label;
    const space = item.kind === "table" && label.includes(".") ? `${namespaceOf(label)}.` : "";
    const shown = cut(label, TEXT.width, 12.5, 600);
    if (space && shown.startsWith(space)) {
      this.name.replaceChildren(s("tspan", { class: "space" }, space), document.createTextNode(shown.slice(space.length)));
    } else {
      this.name.textContent = shown;
    }
    // From far away there is room for few letters, and they have to be large.
    this.big.textContent = cut(label.slice(space.length), TEXT.width - 2, 21, 600);
    this.huge.textContent = cut(label.slice(space.length), TEXT.width - 2, 25, 600);
  }

  move({ x, y }) {
    set(this.group, "transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  }

  /** `look`: `{kind, health, status, rows, running, reads, cyclic}`. */
  show(look) {
    const { group, item } = this;
    const folded = item.kind === "folded";
    set(group, "data-kind", folded ? "folded" : look.kind);
    set(group, "data-state", look.health.key);
    set(group, "data-tone", look.health.tone);
    set(group, "data-running", look.running || null);
    if (look.kind === "source" && !folded) {
      set(this.body, "rx", SIZE.height / 2);
      set(this.halo, "rx", SIZE.height / 2 + 4);
    }
    changeIcon(this.sign, look.health.key);
    const troubled = look.health.tone === "bad" || look.health.tone === "held";
    const more = look.kind === "source" ? `${few(look.rows)} ${look.rows === 1 ? "row" : "rows"}`
      : troubled ? null : look.status?.effective_mode ?? look.status?.refresh_mode;
    const parts = folded ? [plural(item.names.length, "table"), look.health.text] : [look.health.text, more];
    setText(this.line, cutEnd(parts.filter(Boolean).join(" · "), TEXT.width, 11, troubled ? 600 : 400));
    const told = [
      folded ? `${item.group.title}, collapsed` : `${item.label}, ${look.kind === "source" ? "source" : "stream table"}`,
      look.running ? "refreshing now" : null,
      look.health.text,
      look.health.why,
      look.reads.length ? `reads ${look.reads.join(", ")}` : null,
    ].filter(Boolean);
    set(group, "aria-label", told.join("; "));
    setText(this.tip, [item.label, ...told.slice(1)].join("\n"));
  }
}
