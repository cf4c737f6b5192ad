"""Running a page of the documentation: its Python as it stands there, and what it is said to print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def run_page(name: str, after: str = "# ") -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Execute all blocks below a heading (the first, if none is named) in one namespace, on their lines.

    The names they leave; and for each block that is followed by one of text, what it printed and that text.
    """
    text = (DOCS / name).read_text("utf-8")
    names: dict[str, Any] = {}
    said = []
    for lines, code, promised in _blocks(text, text.index(after)):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * lines + code, name, "exec"), names)
        if promised is not None:
            said.append((_stripped(printed.getvalue()), _stripped(promised)))
    return names, said


def _blocks(text: str, start: int) -> Iterator[tuple[int, str, str | None]]:
    for block in BLOCK.finditer(text, start):
        yield text.count("\n", 0, block.start(1)), block[1], block[2]


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
