// Zoom and pan of one SVG: by wheel, drag, pinch and keys; what is looked at stays when things change.

const LIMITS = { least: 0.06, most: 2.5 };
const DRAG = 4;
const GLIDE = 180;
const MARGIN = 28;
// At the right stand the tools for zooming, where there is room for them.
const TOOLS = 36;
const NARROW = 600;

export class Viewport {
  #pointers = new Map();
  #moved = false;
  #glide = 0;

  constructor(svg, layer, changed) {
    // `moved`: by a person, so that the view is theirs.
    Object.assign(this, { svg, layer, changed, x: 0, y: 0, k: 1, moved: false });
    svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    svg.addEventListener("pointerdown", (event) => this.#down(event));
    svg.addEventListener("pointermove", (event) => this.#move(event));
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) {
      svg.addEventListener(kind, (event) => this.#pointers.delete(event.pointerId));
    }
    // The click that ends a drag means nothing.
    svg.addEventListener("click", (event) => this.#moved && event.stopPropagation(), true);
  }

  get size() {
    return { width: this.svg.clientWidth || 1, height: this.svg.clientHeight || 1 };
  }

  to(x, y, k) {
    Object.assign(this, { x, y, k: Math.min(LIMITS.most, Math.max(LIMITS.least, k)) });
    this.layer.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.k.toFixed(4)})`);
    this.changed();
  }

  /** Go there smoothly, unless the reader asked for less motion. */
  glide(x, y, k) {
    cancelAnimationFrame(this.#glide);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden) {
      this.to(x, y, k);
      return;
    }
    const from = { x: this.x, y: this.y, k: this.k };
    const start = performance.now();
    const step = (now) => {
      const part = Math.min(1, (now - start) / GLIDE);
      const eased = 1 - (1 - part) ** 3;
      this.to(from.x + (x - from.x) * eased, from.y + (y - from.y) * eased, from.k + (k - from.k) * eased);
      if (part < 1) this.#glide = requestAnimationFrame(step);
    };
    this.#glide = requestAnimationFrame(step);
  }

  zoom(factor, px = this.size.width / 2, py = this.size.height / 2) {
    this.moved = true;
    const k = Math.min(LIMITS.most, Math.max(LIMITS.least, this.k * factor));
    this.to(px - ((px - this.x) * k) / this.k, py - ((py - this.y) * k) / this.k, k);
  }

  pan(dx, dy) {
    this.to(this.x + dx, this.y + dy, this.k);
  }

  /** The scale at which all of it is seen. */
  #fitting(width, height, room) {
    return Math.min((room - 2 * MARGIN) / width, (this.size.height - 2 * MARGIN) / height, 1.15);
  }

  /** Show all of it; below `least`, only its beginning, but so that it can be read. */
  fit(width, height, { least = 0, smooth = true } = {}) {
    this.moved = false;
    const size = this.size;
    const room = size.width > NARROW ? size.width - TOOLS : size.width;
    const whole = this.#fitting(width, height, room);
    const k = Math.max(whole, least);
    const begin = (space, length) => (k > whole && length > space - 2 * MARGIN ? MARGIN : (space - length) / 2);
    const x = begin(room, k * width);
    const y = begin(size.height, k * height);
    if (smooth) this.glide(x, y, k);
    else this.to(x, y, k);
  }

  /** Bring a rectangle into sight, near the middle if it wasn't there. */
  reveal({ x, y, width, height }, { least = 0 } = {}) {
    const size = this.size;
    const k = Math.max(this.k, least);
    const left = x * this.k + this.x;
    const top = y * this.k + this.y;
    const seen = left >= 12 && top >= 12 && left + width * this.k <= size.width - 12 && top + height * this.k <= size.height - 12;
    if (seen && k === this.k) return;
    this.moved = true;
    this.glide(size.width / 2 - (x + width / 2) * k, size.height / 2 - (y + height / 2) * k, k);
  }

  #wheel(event) {
    event.preventDefault();
    cancelAnimationFrame(this.#glide);
    if (event.shiftKey) {
      this.moved = true;
      this.pan(-(event.deltaX || event.deltaY), 0);
      return;
    }
    const { left, top } = this.svg.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.0022), event.clientX - left, event.clientY - top);
  }

  #down(event) {
    if (event.button !== 0) return;
    cancelAnimationFrame(this.#glide);
    if (this.#pointers.size === 0) this.#moved = false;
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, startX: event.clientX, startY: event.clientY });
  }

  #move(event) {
    const pointer = this.#pointers.get(event.pointerId);
    if (!pointer) return;
    const before = { x: pointer.x, y: pointer.y };
    if (!this.#moved && Math.hypot(event.clientX - pointer.startX, event.clientY - pointer.startY) < DRAG) return;
    if (!this.#moved) {
      this.#moved = true;
      this.svg.setPointerCapture(event.pointerId);
    }
    Object.assign(pointer, { x: event.clientX, y: event.clientY });
    const other = [...this.#pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
    this.moved = true;
    if (!other) {
      this.pan(pointer.x - before.x, pointer.y - before.y);
      return;
    }
    const { left, top } = this.svg.getBoundingClientRect();
    const spread = Math.hypot(pointer.x - other.x, pointer.y - other.y);
    const was = Math.hypot(before.x - other.x, before.y - other.y) || 1;
    this.zoom(spread / was, (pointer.x + other.x) / 2 - left, (pointer.y + other.y) / 2 - top);
    this.pan((pointer.x - before.x) / 2, (pointer.y - before.y) / 2);
  }
}
