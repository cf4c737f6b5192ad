// Asks for the lake and its graph while the rest of the page is still on its way.
// Not a module: modules run too late for that. `api.js` takes the answers.

(() => {
  let token = null;
  try {
    token = sessionStorage.getItem("anabranch-token");
  } catch {
    // Without storage there is none yet.
  }
  const headers = { Accept: "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  window.early = new Map(["lake", "graph"].map((path) => {
    const answer = fetch(`/api/v1/${path}`, { headers, cache: "no-store", redirect: "error" });
    // Whoever takes it sees the failure; until then it is nobody's.
    answer.catch(() => {});
    return [path, answer];
  }));
})();
