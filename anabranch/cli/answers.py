"""What a statement answered, whatever kind of statement it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType

from anabranch.cli.history import COLUMNS as REFRESHES
from anabranch.cli.output import Column, table, text
from anabranch.cli.rows import Rows, fetched, rows_document, shown_rows
from anabranch.cli.status import shown
from anabranch.cli.words import counted, when
from anabranch.jsonable import jsonable


def answered(value: Any, limit: int) -> Any:
    """A statement's result, with the rows of a query fetched."""
    return fetched(value, limit) if hasattr(value, "toArrow") else value


def answer_document(value: Any) -> dict[str, Any]:
    """For programs: `kind` says what the rest is."""
    if isinstance(value, Rows):
        return {"kind": "rows", **rows_document(value)}
    if value is None:
        return {"kind": "done"}
    if _is_written(value):
        return {"kind": "written", "lsn": value.lsn, "inserted": value.inserted, "deleted": value.deleted}
    if isinstance(value, list | tuple):
        return {"kind": "records", "records": jsonable(list(value))}
    return {"kind": "record", "record": jsonable(value)}


def shown_answer(value: Any, width: int) -> RenderableType:
    """For people."""
    from anabranch.looking.history import RefreshRecord
    from anabranch.looking.status import StreamTableStatus

    if isinstance(value, Rows):
        return shown_rows(value)
    if value is None:
        return text("done", "dim")
    if _is_written(value):
        return text(_written(value), "dim")
    if isinstance(value, StreamTableStatus | RefreshRecord):
        return shown_answer([value], width)
    if isinstance(value, list | tuple) and value and isinstance(value[0], StreamTableStatus):
        return shown(value, width)
    if isinstance(value, list | tuple) and value and isinstance(value[0], RefreshRecord):
        return table(value, REFRESHES, width)
    if isinstance(value, list | tuple):
        return table(value, _columns(value), width) if value else text("nothing", "dim")
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return table([(each.name, getattr(value, each.name)) for each in fields(value)], _PAIRS, width)
    return text(str(value))


_PAIRS: list[Column[tuple[str, Any]]] = [
    Column("", lambda pair: pair[0], lambda pair: "dim", whole=True),
    Column("", lambda pair: _plain(pair[1])),
]


def _is_written(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("lsn", "inserted", "deleted"))


def _written(value: Any) -> str:
    if value.lsn is None:
        return "nothing to do"
    return f"lsn {value.lsn:,}: {counted(value.inserted, 'row')} inserted, {value.deleted:,} deleted"


def _columns(records: Sequence[Any]) -> list[Column[Any]]:
    """The fields in which any of the records has something."""
    if not is_dataclass(records[0]):
        return [Column("value", _plain)]
    names = [each.name for each in fields(records[0])]
    told = [name for name in names if any(getattr(record, name) not in (None, "", ()) for record in records)]
    return [Column(name.replace("_", " "), _getter(name)) for name in told]


def _getter(name: str) -> Any:
    return lambda record: _plain(getattr(record, name))


def _plain(value: Any) -> Any:
    return when(value) if isinstance(value, datetime) else value
