"""Rows under their titles, in columns of known widths.

What fits is written as it is, what doesn't is folded. Thousands of rows take a fraction of a second, which is
why it is not left to rich's own tables: they measure and wrap every cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

GAP = 2
"""Blanks between two columns."""


@dataclass(frozen=True)
class Grid:
    """A table that prints itself."""

    titles: Sequence[Text]
    rows: Sequence[Sequence[Text]]
    widths: Sequence[int]
    right: Sequence[bool]
    """Which columns are aligned to the right."""
    whole: Sequence[bool]
    """Which columns are never folded."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for row in (self.titles, *self.rows):
            columns = [self._lines(console, place, cell) for place, cell in enumerate(row)]
            for number in range(max(map(len, columns), default=0)):
                yield from self._line(console, [lines[number : number + 1] for lines in columns])
                yield Segment.line()

    def _lines(self, console: Console, place: int, cell: Text) -> Sequence[Text]:
        if cell.cell_len <= self.widths[place] or self.whole[place]:
            return [cell]
        lines = list(cell.wrap(console, self.widths[place], overflow="fold"))
        for line in lines:
            line.rstrip()
        return lines

    def _line(self, console: Console, cells: Sequence[Sequence[Text]]) -> Iterator[Segment]:
        """One line; blanks are owed until something follows them."""
        owed = 0
        for place, found in enumerate(cells):
            cell = found[0] if found else Text()
            blank = max(self.widths[place] - cell.cell_len, 0)
            before, after = (blank, 0) if self.right[place] else (0, blank)
            owed += before
            if cell.plain:
                if owed:
                    yield Segment(" " * owed)
                yield Segment(cell.plain, console.get_style(cell.style))
                owed = 0
            owed += after + GAP
