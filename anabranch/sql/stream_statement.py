"""The statements about stream tables and gates, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.errors import InvalidOption, InvalidSchedule
from anabranch.names import TableName

Value = str | int | bool | None

_WORD = (str, type(None))
_WHOLE = (int, type(None))
OPTION_TYPES: Mapping[str, tuple[type, ...]] = {
    "schedule": _WORD,
    "refresh_mode": _WORD,
    "initialize": (bool,),
    "diamond_consistency": _WORD,
    "diamond_schedule_policy": _WORD,
    "bootstrap_gating": _WORD,
    "fuse": _WORD,
    "fuse_ceiling": _WHOLE,
    "fuse_sensitivity": _WHOLE,
}
"""The options of a stream table, each with the kinds of values it may have in SQL."""


@dataclass(frozen=True)
class Option:
    """`name = value`, and where the value stands in the text."""

    name: str
    value: Value
    place: str

    def check_value(self, check: Callable[[str, Value], object]) -> None:
        """Have a value looked at; a refusal says where it stands."""
        try:
            check(self.name, self.value)
        except (InvalidOption, InvalidSchedule) as error:
            detail = f"{self.place}: {error.detail}" if error.detail else f"{self.place}."
            raise type(error)(error.message, detail=detail, hint=error.hint) from error


Options = tuple[Option, ...]


@dataclass(frozen=True)
class CreateStreamTable:
    """A new stream table; `query` is the user's own text."""

    name: TableName
    query: str
    options: Options = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterStreamTable:
    """Options, or another query, for a stream table that is there."""

    name: TableName
    options: Options = ()
    query: str | None = None


@dataclass(frozen=True)
class DropStreamTable:
    """A stream table goes, with `cascade` all that reads it."""

    name: TableName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class RefreshStreamTable:
    """A stream table is brought up to now."""

    name: TableName
    full: bool = False


@dataclass(frozen=True)
class SuspendStreamTable:
    """A stream table is refreshed no more."""

    name: TableName


@dataclass(frozen=True)
class ResumeStreamTable:
    """A stream table is refreshed again."""

    name: TableName


@dataclass(frozen=True)
class ExplainStreamTable:
    """How a stream table is maintained."""

    name: TableName


@dataclass(frozen=True)
class ShowStreamTables:
    """How every stream table is doing."""


@dataclass(frozen=True)
class GateSources:
    """Sources are not ready."""

    names: tuple[TableName, ...]


@dataclass(frozen=True)
class UngateSources:
    """Sources are ready."""

    names: tuple[TableName, ...]


GateStatement = GateSources | UngateSources
LifecycleStatement = (
    CreateStreamTable
    | AlterStreamTable
    | DropStreamTable
    | RefreshStreamTable
    | SuspendStreamTable
    | ResumeStreamTable
    | ExplainStreamTable
    | ShowStreamTables
)
SPELLED: Mapping[type, str] = {
    CreateStreamTable: "CREATE STREAM TABLE",
    AlterStreamTable: "ALTER STREAM TABLE",
    DropStreamTable: "DROP STREAM TABLE",
    RefreshStreamTable: "REFRESH STREAM TABLE",
    SuspendStreamTable: "SUSPEND STREAM TABLE",
    ResumeStreamTable: "RESUME STREAM TABLE",
    ExplainStreamTable: "EXPLAIN STREAM TABLE",
    ShowStreamTables: "SHOW STREAM TABLES",
    GateSources: "GATE SOURCE",
    UngateSources: "UNGATE SOURCE",
}
"""How each begins, for messages."""
