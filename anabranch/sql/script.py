"""A text of many statements, cut at its semicolons.

What is quoted and what is a comment is decided by the same lexer that reads the statements. The limits of
one statement are kept when it is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.sql.lexer import check_characters, scan

MAX_SCRIPT_CHARACTERS = 20_000_000


@dataclass(frozen=True)
class ScriptStatement:
    """One statement of a text, as it is written there, and where it begins (both counted from 1)."""

    text: str
    line: int
    column: int

    @property
    def padded_text(self) -> str:
        """The statement behind as many lines and blanks as stand before it: errors then tell its places."""
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


def split_statements(text: str) -> list[ScriptStatement]:
    """The statements of a text; comments between them and empty ones are left out.

    >>> [(s.text, s.line, s.column) for s in split_statements("-- first; \\nSELECT ';' ;\\n\\n  SELECT 2")]
    [("SELECT ';'", 2, 1), ('SELECT 2', 4, 3)]
    """
    check_characters(text, MAX_SCRIPT_CHARACTERS)
    return list(_split(text))


def _split(text: str) -> Iterator[ScriptStatement]:
    first = last = counted = line_start = 0
    line, begun = 1, False
    for group, start, end in scan(text):
        if group in ("space", "comment", "line_comment"):
            continue
        if group == "symbol" and text[start:end] == ";":
            if begun:
                yield ScriptStatement(text[first:last], line, first - line_start + 1)
            begun = False
            continue
        if not begun:
            line += text.count("\n", counted, start)
            line_start = text.rfind("\n", 0, start) + 1
            first, counted, begun = start, start, True
        last = end
    if begun:
        yield ScriptStatement(text[first:last], line, first - line_start + 1)
