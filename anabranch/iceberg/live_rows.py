"""The live rows of data files: all but those with position deletes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.errors import Damaged
from anabranch.iceberg.parquet_files import (
    FileRef,
    Layout,
    Removal,
    added_rows,
    read_file,
    read_row_count,
    to_stored_columns,
    write_rows,
)
from anabranch.iceberg.position_deletes import DeletedPositions, union_positions
from anabranch.iceberg.warehouse import Warehouse

if TYPE_CHECKING:
    from anabranch.engine.base import FileWithDeletes


class LiveRows:
    """Reads live rows with Arrow, one file at a time."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._deleted = DeletedPositions(warehouse)

    def without_deleted(self, rows: pa.Table, file: FileWithDeletes) -> pa.Table:
        """A file's live rows, of all its rows in order."""
        return drop_positions(rows, self._deleted.read_positions(file)) if file.deletes else rows

    def count(self, file: FileWithDeletes) -> int:
        """How many live rows a file has; the rows themselves are not read."""
        return read_row_count(self._warehouse, file.path) - len(self._deleted.read_positions(file))

    def read(self, file: FileRef, gone: pa.Array | None = None) -> pa.Table:
        """A file's live rows without the positions in `gone`.

        A file that differs from Iceberg's entry is `Damaged`.
        """
        positions = self._deleted.read_positions(file)
        if gone is not None:
            positions = union_positions([positions, gone.to_numpy()])
        return drop_positions(self._read_whole_file(file), positions)

    def read_with_positions(self, file: FileRef) -> tuple[pa.Table, np.ndarray]:
        """A file's live rows, and the position of each in the file."""
        rows, positions = self._read_whole_file(file), self._deleted.read_positions(file)
        return drop_positions(rows, positions), np.flatnonzero(_live_mask(rows.num_rows, positions))

    def _read_whole_file(self, file: FileRef) -> pa.Table:
        rows = read_file(self._warehouse, file.path)
        if rows.num_rows != file.rows + file.marked:
            raise Damaged(
                f"the file {file.path} is not the one that was written",
                detail=f"it has {rows.num_rows} rows instead of {file.rows + file.marked}.",
            )
        return rows


def drop_positions(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    """A file's rows without those at some positions."""
    if not len(positions):
        return rows
    return rows.filter(pa.array(_live_mask(rows.num_rows, positions)))


def _live_mask(rows: int, positions: np.ndarray) -> np.ndarray:
    stays = np.ones(rows, dtype=bool)
    stays[positions[positions < rows]] = False
    return stays


def rewrite_files(
    warehouse: Warehouse,
    touched: Sequence[FileRef],
    removal: Removal,
    changes: Sequence[str],
    layout: Layout,
    folder: str,
) -> list[FileRef]:
    """Write the remaining rows of the touched files, and those that the change adds, as new data files."""
    stored, live = layout.arrow, LiveRows(warehouse)
    kept = [to_stored_columns(live.read(file, removal.positions.get(file.path)), stored) for file in touched]
    kept += [to_stored_columns(added_rows(read_file(warehouse, path)), stored) for path in changes]
    return write_rows(warehouse, pa.concat_tables(kept), layout, folder, "rows")
