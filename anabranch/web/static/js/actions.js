// What a person can do to a stream table or a source, from the click to its end.

import { get, post, quoted, token } from "./api.js";
import { h } from "./dom.js";
import { askToken } from "./token.js";
import { complain, say } from "./toast.js";

const POLL = 700;

const streamTable = (name, verb) => `stream-tables/${quoted(name)}/${verb}`;
const source = (name, verb) => `sources/${quoted(name)}/${verb}`;

export class Actions {
  constructor(store) {
    this.store = store;
  }

  refresh(name, full = false) {
    const word = full ? "Full refresh" : "Refresh";
    return this.#do(`${word} of ${name}`, streamTable(name, "refresh"), { full, upstream: true });
  }

  suspend(name) {
    return this.#do(`Suspension of ${name}`, streamTable(name, "suspend"));
  }

  resume(name) {
    return this.#do(`Resumption of ${name}`, streamTable(name, "resume"));
  }

  gate(name) {
    return this.#do(`Gate of ${name}`, source(name, "gate"), { auto_ungate_on_watermark: false });
  }

  ungate(name) {
    return this.#do(`Ungating of ${name}`, source(name, "ungate"));
  }

  tick() {
    return this.#do("Tick", "tick");
  }

  async resetFuse(name) {
    const action = await chooseFuse(name);
    return action && this.#do(`Reset of the fuse of ${name}`, streamTable(name, "reset-fuse"), { action });
  }

  /** Whether it was done. */
  async #do(title, path, body = {}) {
    try {
      const answer = await this.#authorized(() => post(path, body));
      if (answer === null) return false;
      if (answer.action !== undefined) await this.#finished(answer.action);
      say(`${title}: done`);
      return true;
    } catch (error) {
      complain(`${title} failed`, error);
      return false;
    } finally {
      this.store.refetch();
    }
  }

  /** Ask for the token before the first request, and again while the service refuses it. */
  async #authorized(send) {
    if (token.get() === null && (await askToken("Changing something needs the token of this service.")) === null) return null;
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!error.unauthorized) throw error;
        token.set(null);
        if ((await askToken("The service doesn't accept this token.")) === null) return null;
      }
    }
  }

  /** Wait for an action that goes on in the service. */
  async #finished(id) {
    for (;;) {
      const action = await get(`actions/${quoted(id)}`);
      if (action.state === "succeeded") return;
      if (action.state === "failed") throw action.error;
      await new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.store.removeEventListener("action", done);
          resolve();
        };
        const timer = setTimeout(done, POLL);
        this.store.addEventListener("action", done);
      });
    }
  }
}

const FUSE = [
  ["apply", "Apply the changes", "Let this batch through once."],
  ["reinitialize", "Rebuild", "Fill it again from nothing."],
  ["skip_changes", "Skip the changes", "Leave this batch out of this stream table for good; nothing else is touched."],
];

function chooseFuse(name) {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": "fuse-title" },
      h("h2", { id: "fuse-title" }, `Reset the fuse of ${name}`),
      h("p", {}, "What should happen to the changes that it stopped?"),
      h("div", { class: "choices" }, FUSE.map(([action, label, meaning]) => h(
        "button",
        { type: "button", class: "choice", data: { action }, on: { click: () => { answer = action; dialog.close(); } } },
        h("strong", {}, label), h("span", {}, meaning),
      ))),
      h("div", { class: "dialog-end" }, h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel")),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
