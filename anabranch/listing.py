"""Lists of records: a list for programs, a table in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Generic, SupportsIndex, TypeVar, overload

from anabranch.notebook_html import Markup, element, status_class, styled_block, table

SHOWN_ROWS = 50
"""How many rows are shown; the list has all of them."""
TERMINAL_CELL, NOTEBOOK_CELL = 40, 200
"""Characters that are shown of a value."""

T = TypeVar("T")


class Listing(list[T], Generic[T]):
    """A list of records of one kind, equal to any list of the same records.

    A kind with many columns says in `shown` which of them a person reads first: a terminal has
    those; a notebook has them first, and then the others that are not empty.
    """

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, place: slice, /) -> Listing[T]: ...
    def __getitem__(self, place: SupportsIndex | slice, /) -> T | Listing[T]:
        if isinstance(place, slice):
            return Listing(super().__getitem__(place))
        return super().__getitem__(place)

    def __repr__(self) -> str:
        names = _terminal_columns(self)
        if not names:
            return super().__repr__()
        cells = [[_text(getattr(row, name), TERMINAL_CELL) for name in names] for row in self[:SHOWN_ROWS]]
        widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
        numbers = [_is_number(self, name) for name in names]
        lines = [_format_line(names, widths, numbers), "  ".join("─" * width for width in widths)]
        lines += [_format_line(row, widths, numbers) for row in cells]
        if len(self) > SHOWN_ROWS:
            lines.append(f"… and {len(self) - SHOWN_ROWS:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first = _terminal_columns(self)
        if not first:
            return styled_block(element("pre", super().__repr__()) if self else element("i", "nothing"))
        rest = [name for name in _field_names(self) if name not in first and not _is_empty(self, name)]
        names = [*first, *rest]
        numbers = {name for name in names if _is_number(self, name)}
        rows = (
            [_cell_html(getattr(row, name), name in numbers) for name in names] for row in self[:SHOWN_ROWS]
        )
        return styled_block(table([_title(name) for name in names], rows, max(0, len(self) - SHOWN_ROWS)))


def _field_names(rows: Sequence[object]) -> list[str]:
    """The fields of the records; none if there are no records."""
    if not rows or not is_dataclass(rows[0]):
        return []
    return [field.name for field in fields(rows[0])]


def _terminal_columns(rows: Sequence[object]) -> list[str]:
    """The columns for a terminal."""
    return list(getattr(rows[0], "shown", None) or _field_names(rows)) if rows else []


def _is_empty(rows: Sequence[object], name: str) -> bool:
    return all(getattr(row, name) in (None, (), {}, "") for row in rows)


def _is_number(rows: Sequence[object], name: str) -> bool:
    values = [value for row in rows if (value := getattr(row, name)) is not None]
    return bool(values) and all(type(value) in (int, float) for value in values)


def _format_line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    placed = zip(cells, widths, numbers, strict=True)
    return "  ".join(
        f"{cell:>{width}}" if right else f"{cell:<{width}}" for cell, width, right in placed
    ).rstrip()


def _title(name: str) -> str:
    return name.replace("_", " ")


def _cell_html(value: object, number: bool) -> Markup:
    text = _text(value, NOTEBOOK_CELL)
    short = "short " if len(text) <= TERMINAL_CELL else ""
    return element("td", text, class_=short + ("number" if number else status_class(text)))


def _text(value: object, width: int) -> str:
    """A value in one line, without what a terminal would obey.

    >>> _text(("a", "b"), 9), _text({"t": 3}, 9), _text(None, 9), _text("far too long", 9), _text(1.5, 9)
    ('a, b', 't: 3', '', 'far too …', '1.5')
    """
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case float():
            text = f"{value:.3f}".rstrip("0").rstrip(".")
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M:%S}"
        case tuple() | list():
            text = ", ".join(_text(entry, width) for entry in value)
        case Mapping():
            text = ", ".join(f"{key}: {_text(entry, width)}" for key, entry in value.items())
        case _ if is_dataclass(value) and type(value).__str__ is object.__str__:
            text = " ".join(_text(getattr(value, field.name), width) for field in fields(value))
        case _:
            text = str(value)
    one = "".join(sign if sign.isprintable() else " " for sign in text)
    one = " ".join(one.split())
    return one if len(one) <= width else one[: width - 1] + "…"
