"""Applying a change, as weighted rows, to the table that stores the old result.

One statement computes the change and writes it to change files. A change that only inserts is appended. For
deletes, the stored rows are located and their files rewritten: in this process while the table is small, else
by the engine. A few deletes in large files become position deletes instead.
"""

from __future__ import annotations

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import Frame
from anabranch.engine.local.held import Held
from anabranch.engine.local.locate_rows import (
    ChangeSize,
    change_size,
    find_rows,
    found_by_engine,
    look_for_rows,
)
from anabranch.engine.local.lookup import FEW, LOOKED_UP_ROWS
from anabranch.engine.local.values import arrow_rows
from anabranch.engine.row_plans import locate_rows
from anabranch.iceberg.equal_rows import is_comparable
from anabranch.iceberg.parquet_files import FileRef, Removal, list_written_changes, write_change_file
from anabranch.names import WEIGHT
from anabranch.write.row_level_writes import (
    RowCounts,
    remove_rows,
    write_frame,
    write_new_files,
)
from anabranch.write.working_table import WorkingTable

SMALL_TABLE_BYTES = 8 << 20
"""A table up to this size is kept in one file."""
DRIVER_ROWS = 2_000_000
"""Up to so many stored rows are compared in this process."""


def apply_change(context: LakeContext, table: WorkingTable, change: Frame, *, few: bool = False) -> RowCounts:
    """Add the rows of positive weight, remove those of negative weight.

    `few`: they fit into memory, and are written by this process.
    """
    folder = f"{table.folder}/changes/{context.clock.new_id()}"
    changes = _write_change_files(
        context, context.engine.change_from_query(change, table.schema, str(table.name)), folder, few=few
    )
    return _apply_change_files(context, table, changes, folder)


def apply_local_change(context: LakeContext, table: WorkingTable, change: Held) -> RowCounts:
    """The same for a change whose rows are in memory, in the table's columns and types."""
    folder = f"{table.folder}/changes/{context.clock.new_id()}"
    rows = arrow_rows(change, table.schema.names, WEIGHT)
    return _apply_change_files(context, table, write_change_file(context.warehouse, rows, folder), folder)


def _apply_change_files(
    context: LakeContext, table: WorkingTable, changes: list[str], folder: str
) -> RowCounts:
    size = change_size(context.warehouse, changes)
    if not size.deleted:
        if size.inserted:
            # Only inserts: the new data files are the change, and readers needn't add up weights.
            table.append(write_new_files(context, table, [], changes, Removal({}, size=size.size)))
        context.warehouse.delete_folder(folder)
        return RowCounts(inserted=size.inserted)
    live = sorted(table.live_files().values(), key=lambda file: file.path)
    removal = _locate_rows(context, table, live, changes, size)
    if _is_small(live):
        table.replace(live, write_new_files(context, table, live, changes, removal), changes)
    else:
        remove_rows(context, table, changes, removal)
    return RowCounts(inserted=size.inserted, deleted=size.deleted)


def _write_change_files(context: LakeContext, change: Frame, folder: str, *, few: bool) -> list[str]:
    held = context.engine.collect(change) if few else None
    if held is not None:
        return write_change_file(context.warehouse, held, folder)
    write_frame(context, change, folder)
    return list_written_changes(context.warehouse, folder)


def _locate_rows(
    context: LakeContext, table: WorkingTable, live: list[FileRef], changes: list[str], size: ChangeSize
) -> Removal:
    """The positions of the rows to delete."""
    name, stored = str(table.name), sum(file.rows for file in live)
    fits = sum(file.size for file in live) + size.size <= context.settings["driver_rewrite_bytes"]
    if is_comparable(table.layout.arrow) and stored > LOOKED_UP_ROWS and size.deleted * FEW <= stored:
        looked = look_for_rows(
            context.warehouse,
            context.columns,
            live,
            changes,
            table.layout,
            size,
            name,
            most=context.lookup_bytes,
        )
        if looked is not None:
            return looked
    if is_comparable(table.layout.arrow) and stored <= DRIVER_ROWS and fits:
        return find_rows(context.warehouse, live, changes, table.layout, size, name)
    folder = f"{table.folder}/changes/{context.clock.new_id()}"
    located = locate_rows(context.engine, changes, live, table.schema)
    write_frame(context, located, folder)
    gone = list_written_changes(context.warehouse, folder)
    return found_by_engine(context.warehouse, gone, size, name)


def _is_small(live: list[FileRef]) -> bool:
    """Whether a table is kept in one file."""
    return sum(file.size for file in live) <= SMALL_TABLE_BYTES
