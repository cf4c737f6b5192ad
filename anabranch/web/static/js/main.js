// Puts the page together: which part is shown, and what the frame around it says.

import { Actions } from "./actions.js";
import { token } from "./api.js";
import { replace, set } from "./dom.js";
import { icon } from "./icons.js";
import { GraphPage } from "./pages/graph.js";
import { HistoryPage } from "./pages/history.js";
import { ListPage } from "./pages/list.js";
import { SourcePage, SourcesPage } from "./pages/sources.js";
import { TablePage } from "./pages/table.js";
import { Store } from "./store.js";
import { askToken } from "./token.js";

const store = new Store();
const actions = new Actions(store);
const graphPage = new GraphPage(store, actions);
const main = document.getElementById("main");
let page = null;

/** The page for an address; the graph is kept, so that it stays as it was left. */
function pageFor(hash) {
  const [, kind = "", name = ""] = hash.slice(1).split("/");
  const named = decoded(name);
  if (kind === "t" && named) return [new TablePage(store, actions, named), "list"];
  if (kind === "s" && named) return [new SourcePage(store, actions, named), "sources"];
  if (kind === "list") return [new ListPage(store), "list"];
  if (kind === "sources") return [new SourcesPage(store, actions), "sources"];
  if (kind === "history") return [new HistoryPage(store), "history"];
  return [graphPage, "graph"];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  if (location.hash === "#main") return;
  const first = page === null;
  const [next, tab] = pageFor(location.hash);
  if (next === page) return;
  page = next;
  replace(main, page.element);
  document.body.dataset.page = tab;
  document.title = `${page.title} · Anabranch`;
  for (const link of document.querySelectorAll("nav [data-page]")) {
    set(link, "aria-current", link.dataset.page === tab ? "page" : null);
  }
  page.update();
  if (!first) {
    main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function frame() {
  const { lake, connection, error } = store;
  document.getElementById("lake-name").textContent = lake ? lake.name : "";
  const scheduler = { leading: "scheduler runs", waiting: "scheduler waits: another leads", stopped: "scheduler stopped" }[lake?.scheduler];
  document.getElementById("scheduler").textContent = scheduler ?? "";
  const words = { connecting: "connecting", live: lake ? `live · lsn ${lake.lsn}` : "live", lost: "not connected", denied: "token needed" };
  const pill = document.getElementById("connection");
  pill.textContent = words[connection];
  pill.dataset.state = connection;
  const banner = document.getElementById("banner");
  const lost = connection === "lost" || (error?.gone && store.graph);
  const trouble = !lost && error && !error.unauthorized && store.graph ? error : null;
  banner.hidden = !lost && !trouble;
  if (lost) {
    banner.textContent = store.graph
      ? "The service does not answer. What you see is how it was; the page tries again by itself."
      : "The service does not answer. The page tries again by itself.";
  } else if (trouble) {
    banner.textContent = [trouble.code, trouble.message, trouble.hint].filter(Boolean).join(" · ");
  }
}

async function reading() {
  if (!store.error?.unauthorized && store.connection !== "denied") return;
  const reason = token.get() ? "The service doesn't accept this token." : "Reading needs the token of this service.";
  if ((await askToken(reason)) !== null) store.reconnect();
}

function themeButton() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => {
    const label = dark() ? "Use the light theme" : "Use the dark theme";
    replace(button, icon(dark() ? "sun" : "moon", 16));
    set(button, "aria-label", label);
    set(button, "title", label);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("anabranch-theme", root.dataset.theme);
    } catch {
      // Then it holds until the page is closed.
    }
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

const keyButton = document.getElementById("token");
replace(keyButton, icon("key", 16));
set(keyButton, "title", "Token");
keyButton.addEventListener("click", async () => {
  if ((await askToken("The token of this service allows changes.")) !== null) store.reconnect();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, dialog")) return;
  event.preventDefault();
  if (page !== graphPage) {
    location.hash = "#/";
    // At once, not when the address has changed: the next letter is meant for the search.
    route();
  }
  graphPage.search.focus();
});

store.addEventListener("graph", () => { frame(); page.update(); });
store.addEventListener("problem", () => { frame(); page.update(); reading(); });
store.addEventListener("connection", () => { frame(); page.refresh(); reading(); });
for (const kind of ["clock", "running"]) store.addEventListener(kind, () => page.refresh());
window.addEventListener("hashchange", route);
themeButton();
route();
frame();
store.start();
