// What a table's state means to a person: one word, one sign, and why.

import { durationSeconds, span } from "./format.js";

/** From what needs a person to what is well; the order of the filter and of the lists. */
export const STATES = {
  error: { label: "Error", tone: "bad" },
  failing: { label: "Failing", tone: "bad" },
  fuse: { label: "Fuse blown", tone: "bad" },
  missing: { label: "Missing", tone: "bad" },
  late: { label: "Late", tone: "warn" },
  gated: { label: "Gated", tone: "held" },
  held: { label: "Held", tone: "held" },
  suspended: { label: "Suspended", tone: "quiet" },
  unfilled: { label: "Not filled", tone: "quiet" },
  pending: { label: "Changes waiting", tone: "quiet" },
  fresh: { label: "Fresh", tone: "good" },
  source: { label: "Source", tone: "plain" },
};

export const RANK = Object.fromEntries(Object.keys(STATES).map((key, index) => [key, index]));

// A stream table is late when it has waited for longer than this many of its schedules.
const PATIENCE = 2;
// And one whose schedule is no duration, after this long.
const PATIENCE_WITHOUT_SCHEDULE = 3600;

/** Seconds behind at this moment: what waits gets older, what has read everything does not. */
export function lagNow(status, sampledAt, now) {
  if (status.lag_seconds === null) return null;
  if (status.lag_seconds <= 0) return 0;
  return status.lag_seconds + Math.max(0, (now - sampledAt) / 1000);
}

/** `{key, text, why}` of a node of the graph. */
export function health(node, sampledAt, now) {
  if (node.kind === "source") {
    if (node.missing) return state("missing", "missing", "It is read, but there is no such table.");
    if (node.gated) return state("gated", "gated", "It is not ready: what is made from it waits.");
    return state("source", "source");
  }
  const status = node.status;
  if (!status) return state("unfilled", "not filled");
  const lag = lagNow(status, sampledAt, now);
  if (status.status === "ERROR") return state("error", "error", status.status_reason ?? status.last_error);
  if (status.fuse_state === "blown") return state("fuse", "fuse blown", status.status_reason);
  if (status.status === "SUSPENDED") {
    if (status.consecutive_failures > 0) {
      const text = `suspended, failed ×${status.consecutive_failures}`;
      return state("failing", text, status.last_error ?? status.status_reason);
    }
    return state("suspended", "suspended", status.status_reason);
  }
  if (status.consecutive_failures > 0) {
    return state("failing", `failed ×${status.consecutive_failures}`, status.last_error);
  }
  if (status.last_error) return state("failing", "failed", status.last_error);
  if (status.gated_by_sources.length) {
    const gates = status.gated_by_sources;
    const short = gates.length === 1 ? gates[0].split(".").at(-1) : `${gates.length} sources`;
    return state("gated", `waits for ${short}`, `It waits for ${gates.join(", ")}: gated.`);
  }
  if (status.held) return state("held", "held", status.held);
  if (status.status === "INITIALIZING" || status.last_refresh_at === null) {
    return state("unfilled", "not filled", status.status_reason);
  }
  if (lag > 0) {
    const patience = PATIENCE * (durationSeconds(status.effective_schedule) ?? PATIENCE_WITHOUT_SCHEDULE / 2);
    const byHand = status.effective_schedule === null;
    if (!byHand && lag > patience) {
      return state("late", `${span(lag)} behind`, `Its schedule is ${status.effective_schedule}.`);
    }
    return state("pending", `${span(lag)} behind`, byHand ? "It is refreshed by hand only." : null);
  }
  return state("fresh", "fresh", status.status_reason);
}

function state(key, text, why = null) {
  return { key, text, why, tone: STATES[key].tone, label: STATES[key].label };
}

/** The worst of several, for what stands for them while they are collapsed. */
export const worst = (healths) => healths.reduce((a, b) => (RANK[b.key] < RANK[a.key] ? b : a));
