// Names cut to a width: the middle goes, because names differ at their ends.

const context = document.createElement("canvas").getContext("2d");
const family = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
const known = new Map();

/** The text, or as much of both of its ends as fits. */
export function cut(text, width, size, weight = 400) {
  const key = `${width}/${size}/${weight}/${text}`;
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
      if (fits(ends(text, middle))) least = middle;
      else most = middle - 1;
    }
    shown = ends(text, least);
  }
  if (known.size > 20_000) known.clear();
  known.set(key, shown);
  return shown;
}

function ends(text, kept) {
  const head = Math.ceil(kept * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
}
