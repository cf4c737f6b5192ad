// Times, spans and counts as people read them.

const numbers = new Intl.NumberFormat("en");
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const stamp = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { month: "short", day: "2-digit" });

export const count = (value) => (value === null || value === undefined ? "–" : numbers.format(value));

/** A count in few characters: 12.3K. */
export const few = (value) => (value === null || value === undefined ? "–" : brief.format(value));

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** A span of seconds in at most two units. */
export function span(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0.0005) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${(Math.round(seconds * 10) / 10).toString()} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  const [unit, size] = units[first];
  const whole = Math.floor(seconds / size);
  if (first === units.length - 1 || whole >= 10) return `${whole} ${unit}`;
  const [smaller, part] = units[first + 1];
  const rest = Math.floor((seconds - whole * size) / part);
  return rest ? `${whole} ${unit} ${rest} ${smaller}` : `${whole} ${unit}`;
}

export const at = (text) => (text ? stamp.format(new Date(text)) : "–");
export const clockTime = (milliseconds) => hour.format(new Date(milliseconds));
export const calendarDay = (milliseconds) => day.format(new Date(milliseconds));

/** How long ago, by the lake's own clock. */
export function ago(text, now) {
  if (!text) return "never";
  const seconds = (now - Date.parse(text)) / 1000;
  return seconds < 1 ? "just now" : `${span(seconds)} ago`;
}

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** The seconds of a duration such as `1h30m`; null for a cron expression, a word, or none. */
export function durationSeconds(text) {
  if (!text || !/^(\d+(\.\d+)?(ms|s|m|h|d|w)\s*)+$/.test(text.trim())) return null;
  let total = 0;
  for (const [, value, , unit] of text.matchAll(/(\d+(\.\d+)?)(ms|s|m|h|d|w)/g)) total += value * UNITS[unit];
  return total;
}

/** `main` is the namespace that isn't shown. */
export function namespaceOf(name) {
  const dot = name.indexOf(".");
  return dot < 0 ? "main" : name.slice(0, dot);
}

export const fullName = (schema, table) => (schema === "main" ? table : `${schema}.${table}`);
