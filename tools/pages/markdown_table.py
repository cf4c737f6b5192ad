"""Cells of a Markdown table."""

from __future__ import annotations


def row(*cells: str) -> str:
    """A line of a table: in a cell, a bar or a new line would end it."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def head(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*names), "|" + "---|" * len(names)]
