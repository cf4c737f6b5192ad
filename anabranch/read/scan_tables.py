"""Tables as of one lake version: what `lake.table`, `lake.sql` and `snapshot()` read from."""

from __future__ import annotations

from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.connection.scan_files import scan_files
from anabranch.engine.base import Frame
from anabranch.engine.row_plans import net_changes, repeat_with_change_type
from anabranch.errors import InvalidLsn
from anabranch.iceberg.change_files import ChangeFile, SignedFiles, read_changes_between
from anabranch.iceberg.parquet_files import FileRef, check_files
from anabranch.iceberg.read_rows import read_rows
from anabranch.names import TableName
from anabranch.sql.query import Query
from anabranch.streams.versions import LakeVersion, TableVersion

SHOWN_WEIGHT = "_weight"
"""The column of weights, as people see it."""


def list_live_files(context: LakeContext, version: TableVersion) -> tuple[FileRef, ...]:
    """The data files of a version."""
    metadata = context.reader.read_metadata(version.metadata_location)
    return context.reader.list_files(metadata, version.snapshot_id, str(version.name))


def scan_version(context: LakeContext, version: TableVersion) -> Frame:
    """A version's rows, as the engine's frame."""
    return scan_files(context, list_live_files(context, version), version.schema.visible)


def read_arrow(context: LakeContext, version: TableVersion) -> Any:
    """A version's rows as an Arrow table. Needs no Spark, but all of it in memory."""
    return read_rows(context.warehouse, list_live_files(context, version), version.schema.visible)


def run_query(context: LakeContext, lake_version: LakeVersion, query: Query) -> Frame:
    """Run a query over the tables of one lake version."""
    relations = {key: scan_version(context, lake_version.version(name)) for key, name in query.tables}
    return context.engine.run_query(query.template, relations)


def scan_changes(
    context: LakeContext, name: TableName, since: int, until: int | None, *, change_type: bool = False
) -> Frame:
    """What changed in a table after one lsn up to another, as weighted rows.

    With `change_type` a row per occurrence, which says whether it came or went.
    """
    before, after = _resolve_interval(context, name, since, until)
    pieces = list_change_files(context, before, after)
    check_files(context.warehouse, pieces)
    signed = SignedFiles.from_change_files(pieces)
    schema = after.schema.visible
    weighted = context.engine.scan_changes(signed.plus, signed.minus, signed.weighted, schema)
    frame = net_changes(context.engine, weighted, schema, SHOWN_WEIGHT)
    if change_type:
        return repeat_with_change_type(context.engine, frame, schema.names, SHOWN_WEIGHT)
    return frame


def list_change_files(
    context: LakeContext, before: TableVersion | None, after: TableVersion
) -> list[ChangeFile]:
    """The files that lead from one version of a table (None: before it existed) to a later one."""
    metadata = context.reader.read_metadata(after.metadata_location)
    since = None if before is None else before.snapshot_id
    return read_changes_between(context.reader, metadata, since, after.snapshot_id, str(after.name))


def _resolve_interval(
    context: LakeContext, name: TableName, since: int, until: int | None
) -> tuple[TableVersion | None, TableVersion]:
    end = context.catalog.lake_version(until)
    after = end.version(name)
    if not isinstance(since, int) or isinstance(since, bool) or not 0 <= since <= end.lsn:
        raise InvalidLsn(f"changes can't begin at lsn {since!r}", detail=f"they end at lsn {end.lsn}.")
    before = context.catalog.lake_version(since).versions.get(name)
    # A table of the same name that was dropped meanwhile is another table.
    if before is not None and before.table_id != after.table_id:
        before = None
    return before, after
