"""Data files of the lake as an engine's frame."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import FileWithDeletes, Frame
from anabranch.iceberg.parquet_files import check_files
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.schema import Schema


def scan_files(
    context: LakeContext,
    files: Sequence[FileWithDeletes],
    schema: Schema,
    *,
    positions: bool = False,
    keep_as: str | None = None,
) -> Frame:
    """The rows of files that are checked to be there; with `positions` also `__file` and `__position`.

    `keep_as`: see `Engine.scan`.
    """
    check_files(context.warehouse, files)
    deleted = DeletedPositions(context.warehouse, context.columns.marks)
    return context.engine.scan(
        files, schema, positions=positions, deleted=deleted.read_positions, keep_as=keep_as
    )
