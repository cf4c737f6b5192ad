"""A preview of a table: its first rows, read without Spark and without reading the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InputError, UnknownTable
from anabranch.iceberg.read_rows import read_first_rows
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files
from anabranch.read.table_info import ColumnInfo, columns_of

MAX_PREVIEW = 10_000


@dataclass(frozen=True)
class Preview:
    """Some rows of a table's newest version, in no order."""

    columns: tuple[ColumnInfo, ...]
    rows: tuple[tuple[Any, ...], ...]
    total_rows: int
    lsn: int


def preview(context: LakeContext, name: str, limit: int) -> Preview:
    """Up to `limit` rows of a table."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= MAX_PREVIEW:
        raise InputError(f"a preview has from 0 to {MAX_PREVIEW} rows")
    wanted = TableName.parse(name)
    version = context.catalog.lake_version().version(wanted)
    if version.kind == "state":
        raise UnknownTable(f'there is no table "{wanted}" to look at')
    files = list_live_files(context, version)
    rows = read_first_rows(context.warehouse, files, version.schema.visible, limit)
    return Preview(columns_of(version.schema), rows, version.rows, version.lsn)
