"""Row-level writes: evaluate once, then delete and insert rows.

The engine evaluates an update, delete or merge once, into change files: deleted rows, with file and
position, and inserted rows. The touched files are rewritten without those positions, or get position
deletes; the new rows go into files of their own. Small writes are done with Arrow in this process and
need no second Spark job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import FileWithDeletes, Frame
from anabranch.engine.row_plans import rows_after_rewrite
from anabranch.errors import AmbiguousRows, AnabranchError, Damaged
from anabranch.iceberg.live_rows import rewrite_files
from anabranch.iceberg.parquet_files import (
    FileRef,
    Removal,
    check_files,
    count_added_rows,
    has_duplicate_keys,
    list_written_changes,
    list_written_files,
    read_removed_positions,
)
from anabranch.iceberg.position_deletes import DeletedPositions, union_positions
from anabranch.write import delete_strategy
from anabranch.write.working_table import WorkingTable

TARGET_FILE_BYTES = 128 << 20
MANY_FILES, SMALL_FILE_BYTES = 32, 8 << 20
"""A table with so many files up to this size is compacted by maintenance."""
MARKED_SHARE = 0.02
"""And so is one of whose rows more than this share is deleted by position."""


@dataclass(frozen=True)
class RowCounts:
    """How many rows a verb added and removed; an update counts as both."""

    inserted: int = 0
    deleted: int = 0


def apply_row_changes(
    context: LakeContext, table: WorkingTable, actions: Frame, *, keys: tuple[str, ...] = ()
) -> RowCounts:
    """Apply actions per row (see `sql.row_changes`) to a table."""
    name = str(table.name)
    folder = f"{table.folder}/changes/{context.clock.new_id()}"
    write_frame(context, context.engine.change_from_actions(actions, table.schema, name), folder)
    changes = list_written_changes(context.warehouse, folder)
    removal = read_removed_positions(context.warehouse, changes)
    if removal.duplicated or (keys and has_duplicate_keys(context.warehouse, changes, keys)):
        context.warehouse.delete_folder(folder)
        raise AmbiguousRows(
            f'several incoming rows claim the same row of "{name}"',
            hint="let every key stand once in the incoming rows.",
        )
    counts = RowCounts(inserted=removal.rows - removal.removed, deleted=removal.removed)
    if removal.rows:
        remove_rows(context, table, changes, removal)
    return counts


def remove_rows(
    context: LakeContext,
    table: WorkingTable,
    changes: list[str],
    removal: Removal,
) -> None:
    """Delete rows of a table, and add the inserted ones of the change files."""
    choice = plan_removal(table, removal)
    rewritten = list(choice.rewritten)
    table.replace(rewritten, write_new_files(context, table, rewritten, changes, removal), changes)
    if choice.marked:
        marks = {file.path: removal.positions[file.path] for file in choice.marked}
        table.write_position_deletes(marks, f"{table.folder}/deletes/{context.clock.new_id()}.parquet")


def plan_removal(table: WorkingTable, removal: Removal) -> delete_strategy.DeleteStrategy:
    """Which files are rewritten, and which get position deletes."""
    live = table.live_files()
    if unknown := set(removal.positions) - set(live):
        raise Damaged(f'rows of "{table.name}" were read from files it does not have', detail=min(unknown))
    going = {path: len(positions) for path, positions in removal.positions.items()}
    return delete_strategy.choose_delete_strategy(
        live.values(), going, table.merge_on_read_files(), delete_strategy.LIMITS
    )


def write_frame(context: LakeContext, frame: Frame, folder: str, table: WorkingTable | None = None) -> None:
    """Write a frame into a new folder, as a table's data files or as it is; on an error nothing stays."""
    schema = None if table is None else table.schema
    try:
        context.engine.write(frame, folder, schema, {} if table is None else table.field_ids())
    except AnabranchError:
        context.warehouse.delete_folder(folder)
        raise


def append_frame(context: LakeContext, table: WorkingTable, frame: Frame) -> RowCounts:
    """Add a frame's rows, which are in the table's columns already."""
    folder = f"{table.folder}/data/{context.clock.new_id()}"
    write_frame(context, frame, folder, table)
    files = list_written_files(context.warehouse, folder, table.layout)
    table.append(files)
    return RowCounts(inserted=sum(file.rows for file in files))


def replace_rows(context: LakeContext, table: WorkingTable, frame: Frame) -> RowCounts:
    """Put a frame's rows, by position, in the place of all that a table holds."""
    deleted = table.clear()
    schema = table.schema
    conformed = context.engine.conform(frame, schema, str(table.name), columns=schema.names)
    return replace(append_frame(context, table, conformed), deleted=deleted)


def compact_files(context: LakeContext, table: WorkingTable) -> None:
    """Rewrite files below half the target size, and those with position deletes, into as few as needed."""
    live = sorted(table.live_files().values(), key=lambda file: file.path)
    chosen = [file for file in live if file.marked or file.size < TARGET_FILE_BYTES // 2]
    if len(chosen) < 2 and not any(file.marked for file in chosen):
        return
    table.compact(chosen, write_new_files(context, table, chosen, [], Removal({})))


def is_worth_compacting(files: Iterable[FileRef]) -> bool:
    """Whether a table has so many small files or deleted rows that maintenance compacts it."""
    live = list(files)
    marked = sum(file.marked for file in live)
    if marked > MARKED_SHARE * (sum(file.rows for file in live) + marked):
        return True
    return sum(file.size <= SMALL_FILE_BYTES for file in live) >= MANY_FILES


def write_new_files(
    context: LakeContext,
    table: WorkingTable,
    touched: list[FileRef],
    changes: list[str],
    removal: Removal,
) -> list[FileRef]:
    """Write the remaining rows of the touched files, and those that change files add, as new data files."""
    folder = f"{table.folder}/data/{context.clock.new_id()}"
    size = sum(file.size for file in touched) + removal.size
    if size <= context.settings["driver_rewrite_bytes"]:
        return rewrite_files(context.warehouse, touched, removal, changes, table.layout, folder)
    check_files(context.warehouse, touched)
    deleted = DeletedPositions(context.warehouse, context.columns.marks)

    def read_positions(file: FileWithDeletes) -> Any:
        own = deleted.read_positions(file)
        more = removal.positions.get(file.path)
        return own if more is None else union_positions([own, more.to_numpy()])

    rows = rows_after_rewrite(context.engine, touched, changes, table.schema, read_positions)
    write_frame(context, rows, folder, table)
    written = list_written_files(context.warehouse, folder, table.layout)
    _check_row_count(context, table, touched, changes, removal, written)
    return written


def _check_row_count(
    context: LakeContext,
    table: WorkingTable,
    touched: list[FileRef],
    changes: list[str],
    removal: Removal,
    written: list[FileRef],
) -> None:
    """Refuse rewritten files that have more or fewer rows than were left and added."""
    left = sum(file.rows - len(removal.positions.get(file.path, ())) for file in touched)
    expected = left + sum(count_added_rows(context.warehouse, path) for path in changes)
    found = sum(file.rows for file in written)
    if found != expected:
        raise Damaged(
            f'the files of "{table.name}" were not rewritten as its change says',
            detail=f"{found:,} rows were written instead of {expected:,}.",
            hint="nothing was committed; report this: it is an error of ours.",
        )
