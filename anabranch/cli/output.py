"""What the command line says: results to standard output, everything else to standard error.

A result is a table for people, or JSON for programs. Texts become `Text`, never markup, so nothing that
stands in a name, a message or a row is read as an instruction.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TextIO, TypeVar

from rich.console import Console, RenderableType
from rich.text import Text

from anabranch.cli.escape_text import escape_to_one_line, escape_unprintable
from anabranch.cli.grid import GAP, Cell, Grid
from anabranch.errors import AnabranchError
from anabranch.jsonable import to_jsonable

WIDE = 1_000
"""Columns of an output that is no terminal: nothing is folded, so that other programs can read it."""

FOLDED = 16
"""To how many columns a text may be folded."""

NOTHING = Cell.from_text("-", "dim")

Record = TypeVar("Record")


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    json = "json"


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column of a table: its title, what a record shows in it, and how."""

    title: str
    cell: Callable[[Record], object]
    style: Callable[[Record], str] = lambda record: ""
    right: bool = False
    whole: bool = False
    """It is never folded: a time, a number."""
    spare: int = 0
    """Where there is no room for all columns, the one with the highest number goes first; 0 stays."""


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, *, form: Format = Format.table, color: bool = True, quiet: bool = False) -> None:
        self.form = form
        self.quiet = quiet
        self.console = _make_console(sys.stdout, color)
        self.side = _make_console(sys.stderr, color)

    @property
    def is_json(self) -> bool:
        """Whether a program reads it."""
        return self.form is Format.json

    # -- results ------------------------------------------------------------------------------

    def print_result(self, value: object, shown: Callable[[], RenderableType]) -> None:
        """A command's result: as JSON, or as `shown` renders it."""
        if self.is_json:
            self.print_document(value)
        else:
            self.console.print(shown())

    def print_records(
        self, records: Sequence[Record], columns: Sequence[Column[Record]], *, none: str
    ) -> None:
        """A list of values, a row each; `none` says that there are none."""
        self.print_result(
            list(records),
            lambda: (
                format_table(records, columns, self.console.width) if records else escaped_text(none, "dim")
            ),
        )

    def print_done(self, value: object, message: str) -> None:
        """What a command did: a line, which --quiet leaves out."""
        if self.is_json or not self.quiet:
            self.print_result(value, lambda: escaped_text(message))

    def print_document(self, value: object) -> None:
        """A JSON document; plain ASCII, so that no terminal takes part of it for a command."""
        print(json.dumps(to_jsonable(value), indent=2), file=sys.stdout)

    def print_json_line(self, value: object) -> None:
        """A JSON document on one line, for what goes on and on."""
        print(json.dumps(to_jsonable(value)), file=sys.stdout, flush=True)

    # -- beside them --------------------------------------------------------------------------

    def print_note(self, message: str, style: str = "dim") -> None:
        """Something by the way; --quiet leaves it out."""
        if not self.quiet:
            self.side.print(escaped_text(message, style))

    def print_notice(self, message: str) -> None:
        """What a person should know that is no error."""
        if not self.quiet:
            self.side.print(Text.assemble(("Notice: ", "yellow"), escape_unprintable(message)))

    def print_error(self, error: AnabranchError) -> None:
        """Code and message, then detail and hint, if there are any."""
        self.side.print(
            Text.assemble((f"{error.code} ", "bold red"), (escape_unprintable(error.message), "bold")),
            soft_wrap=True,
        )
        for label, said, style in (("Detail: ", error.detail, "yellow"), ("Hint: ", error.hint, "green")):
            if said:
                self.side.print(Text.assemble((label, style), escape_unprintable(said)), soft_wrap=True)

    def print_unexpected_error(self, error: BaseException) -> None:
        """An error that nobody foresaw; where it came from is shown with --debug."""
        said = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        self.side.print(
            Text.assemble(("Unexpected error: ", "bold red"), escape_unprintable(said)), soft_wrap=True
        )
        self.side.print(Text("Hint: the same command with --debug shows where it happened."), soft_wrap=True)


def escaped_text(message: str, style: str = "") -> Text:
    """A message, harmless, on as many lines as it has."""
    return Text(escape_unprintable(message), style=style)


def format_cell(value: object, style: str = "") -> Cell:
    """A value in a table; nothing is a dash."""
    if value is None or value in ("", (), []):
        return NOTHING
    return Cell.from_text(escape_to_one_line(_format_value(value)), style)


def format_table(records: Iterable[Record], columns: Sequence[Column[Record]], width: int) -> RenderableType:
    """A table with a row per record, with as many columns as have room."""
    rows = [
        [format_cell(column.cell(record), column.style(record)) for column in columns] for record in records
    ]
    natural = [max((row[place].width for row in rows), default=0) for place in range(len(columns))]
    shown = _visible_columns(columns, natural, width)
    kept = [columns[place] for place in shown]
    return Grid(
        [Cell.from_text(column.title, "bold") for column in kept],
        [[row[place] for place in shown] for row in rows],
        _column_widths(kept, [natural[place] for place in shown], width),
        [column.right for column in kept],
        [column.whole for column in kept],
    )


def _visible_columns(columns: Sequence[Column[Any]], natural: Sequence[int], width: int) -> list[int]:
    """The places of the columns that are shown: all, if texts may be folded so that they have room."""
    shown = list(range(len(columns)))
    while sum(_minimum_width(columns[place], natural[place]) + GAP for place in shown) - GAP > width:
        spare = max(shown, key=lambda place: columns[place].spare)
        if not columns[spare].spare:
            break
        shown.remove(spare)
    return shown


def _minimum_width(column: Column[Any], natural: int) -> int:
    return max(natural if column.whole else min(natural, FOLDED), _title_width(column))


def _title_width(column: Column[Any]) -> int:
    return len(column.title) if column.whole else max(map(len, column.title.split()), default=1)


def _column_widths(columns: Sequence[Column[Any]], natural: Sequence[int], width: int) -> list[int]:
    """What is whole gets what it needs; what may be folded shares the rest, the short ones first."""
    found = [max(need, len(column.title)) for column, need in zip(columns, natural, strict=True)]
    folded = [place for place, column in enumerate(columns) if not column.whole]
    rest = width - GAP * (len(columns) - 1) - sum(found) + sum(found[place] for place in folded)
    for done, place in enumerate(sorted(folded, key=found.__getitem__)):
        share = max(rest // (len(folded) - done), _title_width(columns[place]))
        found[place] = min(found[place], share)
        rest -= found[place]
    return found


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _make_console(stream: TextIO, color: bool) -> Console:
    # rich honours NO_COLOR by itself.
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(
        file=stream, width=width, no_color=None if color else True, markup=False, emoji=False, highlight=False
    )
