"""The first rows of a table, for looking at: no Spark, and no more of the table than they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.errors import InputError, UnknownTable
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.looking import ColumnInfo, columns_of
from anabranch.read.view import live_files
from anabranch.storage.scan import first_rows

MAX_PREVIEW = 10_000


@dataclass(frozen=True)
class Preview:
    """Some rows of a table's newest version, in no order."""

    columns: tuple[ColumnInfo, ...]
    rows: tuple[tuple[Any, ...], ...]
    total_rows: int
    lsn: int


def preview(parts: Parts, name: str, limit: int) -> Preview:
    """Up to `limit` rows of a table."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= MAX_PREVIEW:
        raise InputError(f"a preview has from 0 to {MAX_PREVIEW} rows")
    wanted = TableName.parse(name)
    version = parts.catalog.moment().version(wanted)
    if version.kind == "state":
        raise UnknownTable(f'there is no table "{wanted}" to look at')
    files = live_files(parts, version)
    rows = first_rows(parts.warehouse, files, version.schema.visible, limit)
    return Preview(columns_of(version.schema), rows, version.rows, version.lsn)
