"""Applying a change, as weighted rows, to the table that stores the old result.

One statement computes the change, into change files. If rows only come, they are appended. If rows go, the
stored ones are found and their files rewritten: here, while the table is small, else by the engine. Where a
few rows of large files go, they are but marked as gone.
"""

from __future__ import annotations

from anabranch.engine.base import Frame
from anabranch.here.held import Held
from anabranch.parts import Parts
from anabranch.storage.equal import comparable
from anabranch.storage.files import WEIGHT, FileRef, Removal, write_change, written_changes
from anabranch.storage.merge import (
    ChangeSize,
    change_size,
    find_rows,
    found_by_engine,
    look_for_rows,
)
from anabranch.storage.values import arrow_rows
from anabranch.write.rewrite import RowCounts, how_to_remove, new_files, remove_rows, write_frame
from anabranch.write.working import WorkingTable

SMALL_TABLE_BYTES = 8 << 20
"""A table up to this size is kept in one file."""
DRIVER_ROWS = 2_000_000
"""Up to so many stored rows are compared here."""
LOOKED_UP_ROWS, FEW = 20_000, 20
"""From so many stored rows on they are looked up, if at most one of so many goes."""


def apply_change(parts: Parts, table: WorkingTable, change: Frame, *, few: bool = False) -> RowCounts:
    """Add the rows of positive weight, remove those of negative weight.

    `few`: there are so few that they can be held, and written, here.
    """
    folder = f"{table.folder}/changes/{parts.clock.new_id()}"
    changes = _written(parts, parts.engine.to_change(change, table.schema, str(table.name)), folder, few=few)
    return _applied(parts, table, changes, folder)


def apply_rows(parts: Parts, table: WorkingTable, change: Held) -> RowCounts:
    """The same for a change whose rows are here, in the table's columns and types."""
    folder = f"{table.folder}/changes/{parts.clock.new_id()}"
    rows = arrow_rows(change, table.schema.names, WEIGHT)
    return _applied(parts, table, write_change(parts.warehouse, rows, folder), folder)


def _applied(parts: Parts, table: WorkingTable, changes: list[str], folder: str) -> RowCounts:
    size = change_size(parts.warehouse, changes)
    if not size.deleted:
        if size.inserted:
            # Nothing but new rows: their files say all, and what reads them needn't add up weights.
            table.append(new_files(parts, table, [], changes, Removal({}, size=size.size)))
        parts.warehouse.clear(folder)
        return RowCounts(inserted=size.inserted)
    live = sorted(table.live().values(), key=lambda file: file.path)
    removal, gone = _located(parts, table, live, changes, size)
    if _is_small(live):
        table.replace(live, new_files(parts, table, live, changes, removal, gone), changes)
    else:
        remove_rows(parts, table, changes, removal, gone)
    return RowCounts(inserted=size.inserted, deleted=size.deleted)


def _written(parts: Parts, change: Frame, folder: str, *, few: bool) -> list[str]:
    held = parts.engine.collected(change) if few else None
    if held is not None:
        return write_change(parts.warehouse, held, folder)
    write_frame(parts, change, folder)
    return written_changes(parts.warehouse, folder)


def _located(
    parts: Parts, table: WorkingTable, live: list[FileRef], changes: list[str], size: ChangeSize
) -> tuple[Removal, list[str]]:
    """The positions that go, and the files that say so to the engine."""
    name, stored = str(table.name), sum(file.rows for file in live)
    fits = sum(file.size for file in live) + size.size <= parts.settings["driver_rewrite_bytes"]
    if comparable(table.layout.arrow) and stored > LOOKED_UP_ROWS and size.deleted * FEW <= stored:
        looked = look_for_rows(
            parts.warehouse,
            parts.columns,
            live,
            changes,
            table.layout,
            size,
            name,
            most=parts.lookup_bytes,
        )
        if looked is not None and (fits or _is_done_here(parts, table, live, looked)):
            return looked, []
    if comparable(table.layout.arrow) and stored <= DRIVER_ROWS and fits:
        return find_rows(parts.warehouse, live, changes, table.layout, size, name), []
    folder = f"{table.folder}/changes/{parts.clock.new_id()}"
    located = parts.engine.located(changes, live, table.schema)
    write_frame(parts, located, folder)
    gone = written_changes(parts.warehouse, folder)
    return found_by_engine(parts.warehouse, gone, size, name), gone


def _is_small(live: list[FileRef]) -> bool:
    """Whether a table is kept in one file."""
    return sum(file.size for file in live) <= SMALL_TABLE_BYTES


def _is_done_here(parts: Parts, table: WorkingTable, live: list[FileRef], removal: Removal) -> bool:
    """Whether no file has to be rewritten by the engine, which would have to be told the positions."""
    rewritten = live if _is_small(live) else how_to_remove(table, removal).rewritten
    size = sum(file.size for file in rewritten) + removal.size
    return bool(size <= parts.settings["driver_rewrite_bytes"])
