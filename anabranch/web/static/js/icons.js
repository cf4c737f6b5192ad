// The signs of the page: one shape per meaning, so that none depends on colour.

import { s } from "./dom.js";

// Drawn in a square of 16 by 16; `fill` marks those that are solid.
const SHAPES = {
  fresh: { d: "M3.2 8.4 6.6 11.8 12.9 4.6" },
  pending: { d: "M8 2.2a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6M8 5v3.2l2.2 1.6" },
  late: { d: "M4.2 1.8h7.6M4.2 14.2h7.6M5 1.8c0 3.4 6 4.6 6 6.2s-6 2.8-6 6.2M11 1.8c0 3.4-6 4.6-6 6.2s6 2.8 6 6.2" },
  failing: { d: "M8 2 14.6 13.6H1.4ZM8 6.4v3.3M8 11.6v.1" },
  error: { d: "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4ZM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" },
  suspended: { d: "M5.3 3v10M10.7 3v10" },
  fuse: { d: "M9.2 1.6 3.8 9h3.9l-.9 5.4L12.2 7H8.3Z" },
  gated: { d: "M2.2 13.8V4.2M13.8 13.8V4.2M2.2 6.2h11.6M2.2 10.6h11.6M6 6.2v4.4M10 6.2v4.4" },
  held: { d: "M8 2.2a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6M3.9 12.1l8.2-8.2" },
  unfilled: { d: "M8 2.2a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6", dashed: true },
  source: { d: "M2.6 4c0-3 10.8-3 10.8 0v8c0 3-10.8 3-10.8 0ZM2.6 4c0 3 10.8 3 10.8 0M2.6 8c0 3 10.8 3 10.8 0" },
  missing: { d: "M5.4 6c0-4 5.4-4 5.4-.4 0 2.4-2.7 2.2-2.7 4.4M8.1 13v.2" },
  cycle: { d: "M13.4 6A5.8 5.8 0 0 0 2.7 5.8M2.6 2.4v3.6h3.6M2.6 10a5.8 5.8 0 0 0 10.7.2M13.4 13.6V10H9.8" },
  group: { d: "M2 5V2h3M11 2h3v3M14 11v3h-3M5 14H2v-3M5.6 5.6h4.8v4.8H5.6Z" },
  plus: { d: "M8 3v10M3 8h10" },
  minus: { d: "M3 8h10" },
  fit: { d: "M2.4 6V2.4H6M10 2.4h3.6V6M13.6 10v3.6H10M6 13.6H2.4V10" },
  search: { d: "M7 2.4a4.6 4.6 0 1 1 0 9.2 4.6 4.6 0 0 1 0-9.2M10.4 10.4l3.4 3.4" },
  refresh: { d: "M13.2 8A5.2 5.2 0 1 1 11.5 4.1M13.4 1.8v3h-3" },
  close: { d: "M3.6 3.6l8.8 8.8M12.4 3.6l-8.8 8.8" },
  moon: { d: "M13.6 9.6A6 6 0 0 1 6.4 2.4a6 6 0 1 0 7.2 7.2Z" },
  sun: { d: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6M8 1.2v1.4M8 13.4v1.4M1.2 8h1.4M13.4 8h1.4M3.2 3.2l1 1M11.8 11.8l1 1M12.8 3.2l-1 1M4.2 11.8l-1 1" },
  key: { d: "M5.2 6.8a3 3 0 1 1 0 6 3 3 0 0 1 0-6M7.4 7.7l5.8-5.3M10.6 4.8l1.8 1.8" },
  open: { d: "M6 3h7v7M13 3 4 12" },
  play: { d: "M4.6 2.8 12.6 8l-8 5.2Z" },
  near: { d: "M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6M8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2" },
};

/** The path of a sign, for drawing inside a larger SVG. */
export function iconPath(name, attributes = {}) {
  const shape = SHAPES[name] ?? SHAPES.missing;
  return s("path", { d: shape.d, class: shape.dashed ? "sign dashed" : "sign", ...attributes });
}

/** Turn an existing path into another sign. */
export function changeIcon(path, name) {
  const shape = SHAPES[name] ?? SHAPES.missing;
  if (path.getAttribute("d") === shape.d) return;
  path.setAttribute("d", shape.d);
  path.setAttribute("class", shape.dashed ? "sign dashed" : "sign");
}

/** A sign by itself; the text beside it says the same. */
export function icon(name, size = 16) {
  return s(
    "svg",
    { viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true", class: "icon" },
    iconPath(name),
  );
}
