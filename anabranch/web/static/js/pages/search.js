// A search field that lists tables by name as one types; arrows choose, Enter goes there.

import { h, replace, set } from "../dom.js";
import { health } from "../health.js";
import { icon } from "../icons.js";

const MOST = 12;

export class Search {
  #found = [];
  #chosen = -1;

  /** `on`: `typed(names | null)` for every change, `chose(name)`. */
  constructor(store, on) {
    Object.assign(this, { store, on });
    this.list = h("ul", { id: "search-list", role: "listbox", "aria-label": "Tables found", class: "search-list", hidden: true });
    this.field = h("input", {
      type: "search", placeholder: "Search tables", role: "combobox", "aria-label": "Search tables", "aria-expanded": "false",
      "aria-controls": "search-list", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false",
      "aria-keyshortcuts": "/",
      on: {
        input: () => this.#typed(),
        keydown: (event) => this.#key(event),
        focus: () => this.#typed(),
        blur: () => this.#close(),
      },
    });
    this.note = h("span", { class: "unseen", role: "status" });
    this.element = h("div", { class: "search" }, icon("search", 14), this.field, h("kbd", { "aria-hidden": "true" }, "/"), this.list, this.note);
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  clear() {
    this.field.value = "";
    this.#typed();
    this.#close();
  }

  #typed() {
    const wanted = this.field.value.trim().toLowerCase();
    if (!wanted) {
      this.#close();
      this.note.textContent = "";
      this.on.typed(null);
      return;
    }
    const names = [...this.store.nodes.keys()].filter((name) => name.toLowerCase().includes(wanted));
    // What begins with it is meant more often.
    names.sort((a, b) => startsWith(b, wanted) - startsWith(a, wanted) || (a < b ? -1 : 1));
    this.#found = names.slice(0, MOST);
    this.#chosen = names.length ? 0 : -1;
    this.note.textContent = names.length === 1 ? "1 table found" : `${names.length} tables found`;
    this.on.typed(new Set(names));
    this.#show(names.length);
  }

  #show(total) {
    const now = this.store.now();
    replace(
      this.list,
      this.#found.map((name, index) => {
        const state = health(this.store.nodes.get(name), this.store.sampledAt, now);
        return h(
          "li",
          {
            id: `found-${index}`, role: "option", "aria-selected": String(index === this.#chosen), data: { tone: state.tone },
            on: { pointerdown: (event) => { event.preventDefault(); this.#choose(index); } },
          },
          icon(state.key, 14), h("span", { class: "grow" }, name), h("span", { class: "muted" }, state.text),
        );
      }),
      total > MOST && h("li", { class: "muted more", "aria-hidden": "true" }, `and ${total - MOST} more`),
      total === 0 && h("li", { class: "muted more", "aria-hidden": "true" }, "No table has this in its name."),
    );
    this.list.hidden = false;
    this.#mark();
  }

  #mark() {
    set(this.field, "aria-expanded", "true");
    set(this.field, "aria-activedescendant", this.#chosen >= 0 ? `found-${this.#chosen}` : null);
    this.list.querySelectorAll("[role=option]").forEach((option, index) => set(option, "aria-selected", String(index === this.#chosen)));
  }

  #close() {
    this.list.hidden = true;
    set(this.field, "aria-expanded", "false");
    set(this.field, "aria-activedescendant", null);
  }

  #choose(index) {
    const name = this.#found[index];
    if (!name) return;
    this.field.value = "";
    this.#close();
    this.on.typed(null);
    this.on.chose(name);
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.#found.length) {
      event.preventDefault();
      this.#chosen = (this.#chosen + step + this.#found.length) % this.#found.length;
      this.#mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.list.hidden) this.#choose(this.#chosen);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (this.field.value) this.clear();
      else this.field.blur();
    }
  }
}

const startsWith = (name, wanted) => {
  const lower = name.toLowerCase();
  return Number(lower.startsWith(wanted) || lower.includes(`.${wanted}`));
};
