"""Listings of tables and their columns, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.listing import Listing
from anabranch.schema import Schema
from anabranch.streams.versions import LakeVersion


@dataclass(frozen=True)
class ColumnInfo:
    """A column that readers see, with its type as Spark names it."""

    name: str
    type: str


def columns_of(schema: Schema) -> tuple[ColumnInfo, ...]:
    """The columns that readers see."""
    return tuple(ColumnInfo(column.name, str(column.type)) for column in schema.visible)


@dataclass(frozen=True)
class TableInfo:
    """A table and its newest version."""

    name: str
    kind: str
    """`source` or `stream`."""
    schema: Schema
    rows: int
    lsn: int
    """The commit that made its newest version."""


def list_tables(lake_version: LakeVersion) -> list[TableInfo]:
    """Every table, by name."""
    found = (
        TableInfo(str(version.name), version.kind, version.schema.visible, version.rows, version.lsn)
        for version in lake_version.versions.values()
        if version.kind != "state"
    )
    return Listing(sorted(found, key=lambda info: info.name))
