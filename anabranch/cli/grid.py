"""Rows under their titles, in columns of known widths.

What fits is written as it is, what doesn't is folded. Thousands of rows take a fraction of a second, which is
why it is not left to rich's own tables: they measure and wrap every cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

GAP = 2
"""Blanks between two columns."""


class Cell(NamedTuple):
    """A text on one line, how it looks, and how many columns of a terminal it takes."""

    text: str
    style: str
    width: int

    @classmethod
    def from_text(cls, text: str, style: str = "") -> Cell:
        """The text, measured."""
        return cls(text, style, cell_len(text))


EMPTY = Cell.from_text("")


@dataclass(frozen=True)
class Grid:
    """A table that prints itself."""

    titles: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    widths: Sequence[int]
    right: Sequence[bool]
    """Which columns are aligned to the right."""
    whole: Sequence[bool]
    """Which columns are never folded."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        plain = console.color_system is None
        for row in (self.titles, *self.rows):
            columns = [self._wrap_cell(console, place, cell) for place, cell in enumerate(row)]
            for number in range(max(map(len, columns), default=0)):
                cells = [lines[number] if number < len(lines) else EMPTY for lines in columns]
                yield from self._line_segments(console, cells, plain)

    def _wrap_cell(self, console: Console, place: int, cell: Cell) -> Sequence[Cell]:
        if cell.width <= self.widths[place] or self.whole[place]:
            return (cell,)
        lines = Text(cell.text).wrap(console, self.widths[place], overflow="fold")
        return [Cell.from_text(line.plain.rstrip(), cell.style) for line in lines]

    def _line_segments(self, console: Console, cells: Sequence[Cell], plain: bool) -> Iterator[Segment]:
        """One line, in few segments, since each takes time; blanks are owed until something follows them."""
        said, owed = "", 0
        for place, (text, style, taken) in enumerate(cells):
            blank = max(self.widths[place] - taken, 0)
            before, after = (blank, 0) if self.right[place] else (0, blank)
            owed += before
            if text:
                said += " " * owed
                owed = 0
                if plain or not style:
                    said += text
                else:
                    if said:
                        yield Segment(said)
                    yield Segment(text, console.get_style(style))
                    said = ""
            owed += after + GAP
        yield Segment(said + "\n")
