// Light or dark: the reader's choice if there is one, before anything is painted.
// Not a module: modules run too late for that.

(() => {
  const root = document.documentElement;
  try {
    const chosen = localStorage.getItem("anabranch-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    // Without storage the system's choice stands.
  }
})();
