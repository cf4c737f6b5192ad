// Text cut to a width: of names the middle goes, because they differ at their ends.

const context = document.createElement("canvas").getContext("2d");
const family = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
const known = new Map();

/** A name, or as much of both of its ends as fits. */
export const cut = (text, width, size, weight = 400) => fitted(text, width, size, weight, ends);

/** A text, or as much of its beginning as fits. */
export const cutEnd = (text, width, size, weight = 400) => fitted(text, width, size, weight, beginning);

function fitted(text, width, size, weight, shortened) {
  const key = `${shortened.name}/${width}/${size}/${weight}/${text}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  context.font = `${weight} ${size}px ${family}`;
  const fits = (candidate) => context.measureText(candidate).width <= width;
  let shown = text;
  if (!fits(text)) {
    let least = 1;
    let most = text.length - 1;
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (fits(shortened(text, middle))) least = middle;
      else most = middle - 1;
    }
    shown = shortened(text, least);
  }
  if (known.size > 20_000) known.clear();
  known.set(key, shown);
  return shown;
}

const beginning = (text, kept) => `${text.slice(0, kept)}…`;

function ends(text, kept) {
  const head = Math.ceil(kept * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
}
