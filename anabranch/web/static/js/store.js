// What the page knows of the lake: one picture, replaced whenever the lake says that it changed.

import { get } from "./api.js";
import { listen } from "./events.js";

// Many commits may come at once; the picture is fetched again at most this often.
const PACE = 400;
// And this often without any event: lags of sources that others write to grow in silence.
const AT_LEAST = 30_000;

export class Store extends EventTarget {
  /** `lake`, `graph`: as last answered. `connection`: connecting, live, lost, denied. */
  lake = null;
  graph = null;
  nodes = new Map();
  readers = new Map();
  reads = new Map();
  sampledAt = 0;
  connection = "connecting";
  error = null;
  running = new Set();
  #skew = 0;
  #busy = false;
  #again = false;
  #last = 0;
  #timer = null;
  #stream = null;
  #greeted = false;
  #told = 0;

  start() {
    this.#stream = listen({
      event: (kind, data) => this.#event(kind, data),
      state: (state) => this.#connected(state),
    });
    this.refetch();
    setInterval(() => this.#emit("clock"), 5_000);
    setInterval(() => this.connection === "live" && this.#soon(), AT_LEAST);
  }

  /** The lake's time. */
  now() {
    return Date.now() + this.#skew;
  }

  /** There is another token. */
  reconnect() {
    this.#stream?.again();
    this.refetch();
  }

  refetch() {
    this.#soon(0);
  }

  #soon(pace = PACE) {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    if (this.#timer !== null && pace > 0) return;
    clearTimeout(this.#timer);
    const wait = Math.max(0, Math.min(pace, this.#last + pace - Date.now()));
    this.#timer = setTimeout(() => this.#fetch(), wait);
  }

  async #fetch() {
    this.#timer = null;
    this.#busy = true;
    try {
      const [lake, graph] = await Promise.all([get("lake"), get("graph")]);
      this.#skew = Date.parse(lake.now) - Date.now();
      this.lake = lake;
      this.error = null;
      this.#take(graph);
      this.#emit("graph");
    } catch (problem) {
      this.error = problem;
      this.#emit("problem");
    } finally {
      this.#busy = false;
      this.#last = Date.now();
      if (this.#again || (this.graph && this.error === null && this.graph.lsn < this.#told)) {
        this.#again = false;
        this.#soon();
      }
    }
  }

  #take(graph) {
    this.graph = graph;
    this.sampledAt = this.now();
    this.nodes = new Map(graph.nodes.map((node) => [node.name, node]));
    this.readers = new Map(graph.nodes.map((node) => [node.name, []]));
    this.reads = new Map(graph.nodes.map((node) => [node.name, []]));
    for (const { source, reader } of graph.edges) {
      this.readers.get(source)?.push(reader);
      this.reads.get(reader)?.push(source);
    }
  }

  #event(kind, data) {
    if (kind === "lake") {
      this.#told = data.lsn;
      // The first one says where the lake is, not that it moved.
      const greeting = !this.#greeted;
      this.#greeted = true;
      if (!greeting || (!this.#busy && this.graph?.lsn !== data.lsn)) this.#soon();
    } else if (kind === "step") {
      const name = data.stream_table;
      if (name && data.kind === "refresh_started") this.running.add(name);
      else if (name && data.kind === "refresh_finished") this.running.delete(name);
      else if (data.kind === "tick_finished") this.running.clear();
      this.#emit("running");
      if (data.kind === "tick_finished" || data.kind === "skipped") this.#soon();
    } else if (kind === "action") {
      this.dispatchEvent(new CustomEvent("action", { detail: data }));
      this.#soon();
    }
  }

  #connected(state) {
    if (state === this.connection) return;
    const before = this.connection;
    this.connection = state;
    if (state !== "live") {
      this.running.clear();
      this.#greeted = false;
    }
    this.#emit("connection");
    // Whatever happened in between was not told.
    if (state === "live" && before !== "connecting") this.refetch();
  }

  #emit(kind) {
    this.dispatchEvent(new Event(kind));
  }
}
