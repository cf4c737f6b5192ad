// Asks for the service's token when it is first needed; it is kept for this tab only.

import { token } from "./api.js";
import { h } from "./dom.js";

let asking = null;

/** The token that was entered, or null. Asked once, however many want it at the same time. */
export function askToken(reason) {
  asking ??= ask(reason).finally(() => (asking = null));
  return asking;
}

function ask(reason) {
  return new Promise((resolve) => {
    const field = h("input", {
      id: "token-field", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-reason",
    });
    let answer = null;
    const form = h(
      "form",
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            answer = field.value.trim() || null;
            if (answer) token.set(answer);
            dialog.close();
          },
        },
      },
      h("h2", { id: "token-title" }, "Token"),
      h("p", { id: "token-reason" }, reason),
      h("label", { for: "token-field" }, "Token of this service"),
      field,
      h("p", { class: "muted" }, "It was printed when ", h("code", {}, "anabranch serve"), " started, or stands in its token file. It is kept in this tab only."),
      h(
        "div",
        { class: "dialog-end" },
        token.get() && h("button", { type: "button", on: { click: () => { token.set(null); dialog.close(); } } }, "Forget it"),
        h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel"),
        h("button", { type: "submit", class: "primary" }, "Use token"),
      ),
    );
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "token-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}
