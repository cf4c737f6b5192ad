"""`python -m tools.pages` writes the pages that are made from the code."""

from __future__ import annotations

from tools.pages import DOCS, PAGES

for name, made in PAGES.items():
    path = DOCS / name
    text = made()
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
        print(f"wrote docs/{name}")
