// SQL for the eye: keywords stand out, and a query on one long line gets lines.

import { h } from "./dom.js";

const TOKENS = /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^'\\]|''|\\.)*')|(`[^`]*`|"[^"]*")|([A-Za-z_][\w$]*)|(\d[\w.]*)|(\s+)|([\s\S])/g;
const KEYWORDS = new Set(
  ("select from where group by having order limit offset join inner left right full outer cross semi anti on using as and or not in is "
    + "null exists case when then else end union all distinct intersect except with recursive values over partition rows range between "
    + "lateral view explode cast filter grouping sets rollup cube asc desc nulls first last true false like interval qualify window").split(" "),
);
const BREAKS = new Set(
  "select from where group having order limit union intersect except join inner left right full cross lateral window qualify with".split(" "),
);
const JOINED = new Set("inner left right full cross outer semi anti lateral union".split(" "));
const LONG = 72;

/** A block with a query in it. */
export function sqlBlock(text, label) {
  const shown = text.trim().includes("\n") || text.length <= LONG ? dedented(text) : broken(text);
  const code = h("code");
  for (const { kind, text: part } of tokens(shown)) {
    if (kind === "space" || kind === "other" || kind === "word") code.append(part);
    else code.append(h("span", { class: `sql-${kind}` }, part));
  }
  return h("pre", { class: "sql", tabindex: 0, "aria-label": label }, code);
}

function* tokens(text) {
  for (const [, comment, string, quoted, word, number, space, other] of text.matchAll(TOKENS)) {
    if (comment) yield { kind: "comment", text: comment };
    else if (string) yield { kind: "string", text: string };
    else if (quoted) yield { kind: "word", text: quoted };
    else if (word) yield { kind: KEYWORDS.has(word.toLowerCase()) ? "keyword" : "word", text: word };
    else if (number) yield { kind: "number", text: number };
    else if (space) yield { kind: "space", text: space };
    else yield { kind: "other", text: other };
  }
}

/** The common indentation goes. */
function dedented(text) {
  const lines = text.replace(/^\s*\n/, "").trimEnd().split("\n");
  const depth = Math.min(...lines.slice(1).filter((line) => line.trim()).map((line) => line.match(/^ */)[0].length), 200);
  return lines.map((line, index) => (index === 0 ? line.trimStart() : line.slice(Math.min(depth, line.match(/^ */)[0].length)))).join("\n");
}

/** Clauses on lines of their own, subqueries indented; functions stay on their line. */
function broken(text) {
  const parens = [];
  let out = "";
  let previous = "";
  const list = [...tokens(text.trim())];
  list.forEach((token, index) => {
    const word = token.text.toLowerCase();
    const next = list.slice(index + 1).find((each) => each.kind !== "space")?.text.toLowerCase();
    const depth = parens.filter(Boolean).length;
    const inCall = parens.length > 0 && !parens.at(-1);
    if (token.text === "(") {
      parens.push(next === "select" || next === "with");
    } else if (token.text === ")") {
      if (parens.pop()) out = `${out.trimEnd()}\n${"  ".repeat(depth - 1)}`;
    } else if (token.kind === "keyword" && BREAKS.has(word) && !inCall && !JOINED.has(previous) && out) {
      out = `${out.trimEnd()}\n${"  ".repeat(depth)}`;
    }
    if (token.kind !== "space") previous = word;
    out += token.kind === "space" ? (/\s$/.test(out) ? "" : " ") : token.text;
  });
  return out;
}
