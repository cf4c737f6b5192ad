"""What the lake says about itself, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.ledger.records import Moment
from anabranch.listing import Listing
from anabranch.schema import Schema


@dataclass(frozen=True)
class ColumnInfo:
    """A column that readers see, with its type in Spark's words."""

    name: str
    type: str


def columns_of(schema: Schema) -> tuple[ColumnInfo, ...]:
    """The columns that readers see."""
    return tuple(ColumnInfo(column.name, str(column.type)) for column in schema.visible)


@dataclass(frozen=True)
class TableInfo:
    """A table, and where its newest version stands."""

    name: str
    kind: str
    """`source` or `stream`."""
    schema: Schema
    rows: int
    lsn: int
    """The commit that made its newest version."""


def list_tables(moment: Moment) -> list[TableInfo]:
    """Every table, by name."""
    found = (
        TableInfo(str(version.name), version.kind, version.schema.visible, version.rows, version.lsn)
        for version in moment.versions.values()
        if version.kind != "state"
    )
    return Listing(sorted(found, key=lambda info: info.name))
