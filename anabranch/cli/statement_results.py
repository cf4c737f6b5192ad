"""What a statement answered, whatever kind of statement it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType

from anabranch.cli.history import COLUMNS as REFRESHES
from anabranch.cli.human_readable import format_count, format_time
from anabranch.cli.output import Column, escaped_text, format_table
from anabranch.cli.rows import Rows, fetch_rows, format_rows, rows_document
from anabranch.cli.status import format_status
from anabranch.jsonable import to_jsonable


def fetch_result(value: Any, limit: int) -> Any:
    """A statement's result, with the rows of a query fetched."""
    return fetch_rows(value, limit) if hasattr(value, "toArrow") else value


def result_document(value: Any) -> dict[str, Any]:
    """For programs: `kind` says what the rest is."""
    if isinstance(value, Rows):
        return {"kind": "rows", **rows_document(value)}
    if value is None:
        return {"kind": "done"}
    if _is_write_result(value):
        return {"kind": "written", "lsn": value.lsn, "inserted": value.inserted, "deleted": value.deleted}
    if isinstance(value, list | tuple):
        return {"kind": "records", "records": to_jsonable(list(value))}
    return {"kind": "record", "record": to_jsonable(value)}


def format_result(value: Any, width: int) -> RenderableType:
    """For people."""
    from anabranch.inspect.history import RefreshRecord
    from anabranch.inspect.status import StreamTableStatus

    if isinstance(value, Rows):
        return format_rows(value)
    if value is None:
        return escaped_text("done", "dim")
    if _is_write_result(value):
        return escaped_text(_format_write(value), "dim")
    if isinstance(value, StreamTableStatus | RefreshRecord):
        return format_result([value], width)
    if isinstance(value, list | tuple) and value and isinstance(value[0], StreamTableStatus):
        return format_status(value, width)
    if isinstance(value, list | tuple) and value and isinstance(value[0], RefreshRecord):
        return format_table(value, REFRESHES, width)
    if isinstance(value, list | tuple):
        return format_table(value, _record_columns(value), width) if value else escaped_text("nothing", "dim")
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return format_table([(each.name, getattr(value, each.name)) for each in fields(value)], _PAIRS, width)
    return escaped_text(str(value))


_PAIRS: list[Column[tuple[str, Any]]] = [
    Column("", lambda pair: pair[0], lambda pair: "dim", whole=True),
    Column("", lambda pair: _format_value(pair[1])),
]


def _is_write_result(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("lsn", "inserted", "deleted"))


def _format_write(value: Any) -> str:
    if value.lsn is None:
        return "nothing to do"
    return f"lsn {value.lsn:,}: {format_count(value.inserted, 'row')} inserted, {value.deleted:,} deleted"


def _record_columns(records: Sequence[Any]) -> list[Column[Any]]:
    """The fields in which any of the records has something."""
    if not is_dataclass(records[0]):
        return [Column("value", _format_value)]
    names = [each.name for each in fields(records[0])]
    told = [name for name in names if any(getattr(record, name) not in (None, "", ()) for record in records)]
    return [Column(name.replace("_", " "), _getter(name)) for name in told]


def _getter(name: str) -> Any:
    return lambda record: _format_value(getattr(record, name))


def _format_value(value: Any) -> Any:
    return format_time(value) if isinstance(value, datetime) else value
