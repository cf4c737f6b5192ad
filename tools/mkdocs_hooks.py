"""What the site takes from beside `docs/`, with links that fit both places.

In the repository, changelog, contributing and security stand at the top and link to `docs/…`; in the site
they stand among the other pages.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TAKEN = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
_UPWARDS = re.compile(r"\]\(((?:\.\./)+)([A-Z]+\.md)")
_DOWNWARDS = re.compile(r"\]\(docs/")
_CODE_WITH_A_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")


def on_files(files: Files, *, config: Any, **_: object) -> Files:
    """Add the pages from beside `docs/`."""
    for name, place in TAKEN.items():
        text = _DOWNWARDS.sub("](", (ROOT / name).read_text("utf-8"))
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Lead links that go up, out of `docs/`, to where the pages stand in the site.

    And show bars in code of tables: there they are escaped, and the site's Markdown would show the escape.
    """
    lines = (
        _CODE_WITH_A_BAR.sub(_unescape_bars, line) if line.startswith("|") else line
        for line in markdown.split("\n")
    )
    return _UPWARDS.sub(_redirect_link, "\n".join(lines))


def _unescape_bars(found: re.Match[str]) -> str:
    code = escape(found[1].replace("\\|", "|")).replace("|", "&#124;")
    return f"<code>{code}</code>"


def _redirect_link(found: re.Match[str]) -> str:
    """`../CHANGELOG.md` is `changelog.md`, and `../../CHANGELOG.md` is `../changelog.md`."""
    upwards, name = found[1], found[2]
    return f"]({upwards.removeprefix('../')}{TAKEN[name]}" if name in TAKEN else found[0]
