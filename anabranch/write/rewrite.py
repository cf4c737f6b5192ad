"""Row-level writes: evaluate once, then take out the rows that go.

The engine evaluates an update, delete or merge once, into change files: rows that go, with file and
position, and rows that come. The touched files are rewritten without those positions, or the
positions marked in them as gone; the new rows go into files of their own. When it is little, Arrow
does that on the driver and no second Spark job is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from anabranch.engine.base import Frame
from anabranch.errors import AmbiguousRows, AnabranchError, Damaged
from anabranch.parts import Parts
from anabranch.storage.files import (
    FileRef,
    Removal,
    has_twins,
    removed_positions,
    written_changes,
    written_files,
)
from anabranch.storage.live import rewrite_files
from anabranch.write import marking
from anabranch.write.working import WorkingTable

TARGET_FILE_BYTES = 128 << 20
MANY_FILES, SMALL_FILE_BYTES = 32, 8 << 20
"""So many files up to this size are put together without anybody's asking."""
MARKED_SHARE = 0.02
"""And files of which more than this part of a table's rows is marked are rewritten."""


@dataclass(frozen=True)
class RowCounts:
    """How many rows a verb added and removed; an update counts as both."""

    inserted: int = 0
    deleted: int = 0


def rewrite(parts: Parts, table: WorkingTable, actions: Frame, *, keys: tuple[str, ...] = ()) -> RowCounts:
    """Apply actions per row (see `sql.row_changes`) to a table."""
    name = str(table.name)
    folder = f"{table.folder}/changes/{parts.clock.new_id()}"
    write_frame(parts, parts.engine.row_changes(actions, table.schema, name), folder)
    changes = written_changes(parts.warehouse, folder)
    removal = removed_positions(parts.warehouse, changes)
    if removal.duplicated or (keys and has_twins(parts.warehouse, changes, keys)):
        parts.warehouse.clear(folder)
        raise AmbiguousRows(
            f'several incoming rows claim the same row of "{name}"',
            hint="let every key stand once in the incoming rows.",
        )
    counts = RowCounts(inserted=removal.rows - removal.removed, deleted=removal.removed)
    if removal.rows:
        remove_rows(parts, table, changes, removal)
    return counts


def remove_rows(
    parts: Parts, table: WorkingTable, changes: list[str], removal: Removal, gone: list[str] | None = None
) -> None:
    """Take the rows that go out of a table, and add those that come.

    `gone` are the files that say which positions go: by default the change files themselves.
    """
    choice = how_to_remove(table, removal)
    rewritten = list(choice.rewritten)
    table.replace(rewritten, new_files(parts, table, rewritten, changes, removal, gone), changes)
    if choice.marked:
        marks = {file.path: removal.positions[file.path] for file in choice.marked}
        table.mark(marks, f"{table.folder}/deletes/{parts.clock.new_id()}.parquet")


def how_to_remove(table: WorkingTable, removal: Removal) -> marking.Choice:
    """Which files are rewritten, and in which rows are marked."""
    live = table.live()
    if unknown := set(removal.positions) - set(live):
        raise Damaged(f'rows of "{table.name}" were read from files it does not have', detail=min(unknown))
    going = {path: len(positions) for path, positions in removal.positions.items()}
    return marking.choose(live.values(), going, table.markable(), marking.LIMITS)


def write_frame(parts: Parts, frame: Frame, folder: str, table: WorkingTable | None = None) -> None:
    """Write a frame into a new folder, as a table's data files or as it is; on an error nothing stays."""
    schema = None if table is None else table.schema
    try:
        parts.engine.write(frame, folder, schema, {} if table is None else table.field_ids())
    except AnabranchError:
        parts.warehouse.clear(folder)
        raise


def append_frame(parts: Parts, table: WorkingTable, frame: Frame) -> RowCounts:
    """Add a frame's rows, which are in the table's columns already."""
    folder = f"{table.folder}/data/{parts.clock.new_id()}"
    write_frame(parts, frame, folder, table)
    files = written_files(parts.warehouse, folder, table.layout)
    table.append(files)
    return RowCounts(inserted=sum(file.rows for file in files))


def replace_rows(parts: Parts, table: WorkingTable, frame: Frame) -> RowCounts:
    """Put a frame's rows, by position, in the place of all that a table holds."""
    deleted = table.clear()
    conformed = parts.engine.conform(frame, table.schema, str(table.name), by_position=True)
    return replace(append_frame(parts, table, conformed), deleted=deleted)


def compact_files(parts: Parts, table: WorkingTable) -> None:
    """Rewrite the files that are smaller than half the target into as few as needed; and those with marks."""
    live = sorted(table.live().values(), key=lambda file: file.path)
    chosen = [file for file in live if file.marked or file.size < TARGET_FILE_BYTES // 2]
    if len(chosen) < 2 and not any(file.marked for file in chosen):
        return
    table.compact(chosen, new_files(parts, table, chosen, [], Removal({})))


def worth_compacting(files: Iterable[FileRef]) -> bool:
    """Whether a table is read so much better with its files rewritten that it is done in passing."""
    live = list(files)
    marked = sum(file.marked for file in live)
    if marked > MARKED_SHARE * (sum(file.rows for file in live) + marked):
        return True
    return sum(file.size <= SMALL_FILE_BYTES for file in live) >= MANY_FILES


def new_files(
    parts: Parts,
    table: WorkingTable,
    touched: list[FileRef],
    changes: list[str],
    removal: Removal,
    gone: list[str] | None = None,
) -> list[FileRef]:
    """What stays of the touched files, and what change files add, as new data files.

    `gone` are the files that say which positions go: by default the change files themselves.
    """
    folder = f"{table.folder}/data/{parts.clock.new_id()}"
    size = sum(file.size for file in touched) + removal.size
    if size <= parts.settings["driver_rewrite_bytes"]:
        return rewrite_files(parts.warehouse, touched, removal, changes, table.layout, folder)
    rows = parts.engine.rewritten(touched, changes, changes if gone is None else gone, table.schema)
    write_frame(parts, rows, folder, table)
    return written_files(parts.warehouse, folder, table.layout)
