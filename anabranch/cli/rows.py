"""Rows of tables and queries, as a table or as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from anabranch.cli.escape_text import escape_to_one_line
from anabranch.cli.human_readable import format_count
from anabranch.jsonable import to_jsonable

if TYPE_CHECKING:
    from anabranch.lake import Lake

EVERY_ROW = 0
"""As a limit: none."""


@dataclass(frozen=True)
class Rows:
    """Rows with the names of their columns, which need not differ."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool
    """There are more rows than these."""


def fetch_rows(frame: Any, limit: int) -> Rows:
    """The first rows of a DataFrame, or all."""
    from anabranch.engine.spark.error_translation import translate_errors

    with translate_errors():
        arrow = (frame if limit == EVERY_ROW else frame.limit(limit + 1)).toArrow()
    return _rows_from_arrow(arrow, limit)


def preview_rows(lake: Lake, name: str, limit: int) -> Rows:
    """Some rows of a table, without Spark."""
    found = lake.preview(name, limit)
    return Rows(tuple(each.name for each in found.columns), found.rows, found.total_rows > len(found.rows))


def format_rows(found: Rows) -> RenderableType:
    """The rows under their columns, and how many they are."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(found.columns):
        numbers = any(_is_number(row[place]) for row in found.rows)
        table.add_column(
            Text(escape_to_one_line(name)), justify="right" if numbers else "left", overflow="fold"
        )
    for row in found.rows:
        table.add_row(*map(_format_cell, row))
    count = (
        f"the first {format_count(len(found.rows), 'row')}"
        if found.more
        else format_count(len(found.rows), "row")
    )
    return Group(table, Text(count, style="dim"))


def rows_document(found: Rows) -> dict[str, Any]:
    """The same for programs: rows are lists, since columns may share a name."""
    return {"columns": list(found.columns), "rows": to_jsonable(found.rows), "more": found.more}


def _rows_from_arrow(arrow: Any, limit: int) -> Rows:
    more = limit != EVERY_ROW and arrow.num_rows > limit
    columns = [column.to_pylist() for column in (arrow.slice(0, limit) if more else arrow).columns]
    return Rows(tuple(arrow.column_names), tuple(zip(*columns, strict=True)), more)


def _format_cell(value: Any) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(escape_to_one_line(_format_value(value)))


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat(" ")
        case date() | time() | Decimal() | str():
            return str(value)
        case bytes():
            return value.hex()
        case dict() | list() | tuple():
            return json.dumps(to_jsonable(value), ensure_ascii=False)
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
