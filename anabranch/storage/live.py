"""The rows of data files that count: all but those that are marked as gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.errors import Damaged
from anabranch.storage.deletes import Deleted, united
from anabranch.storage.files import (
    FileRef,
    Layout,
    Removal,
    added_rows,
    read_file,
    rows_in,
    stored_rows,
    write_rows,
)
from anabranch.storage.warehouse import Warehouse

if TYPE_CHECKING:
    from anabranch.engine.base import Stored


class LiveRows:
    """Reads them with Arrow, from one file after the other."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._deleted = Deleted(warehouse)

    def of(self, file: Stored) -> pa.Table:
        """A file's rows."""
        rows = read_file(self._warehouse, file.path)
        return without(rows, self._deleted.positions(file)) if file.deletes else rows

    def count(self, file: Stored) -> int:
        """How many there are; the rows themselves are not read."""
        return rows_in(self._warehouse, file.path) - len(self._deleted.positions(file))

    def read(self, file: FileRef, gone: pa.Array | None = None) -> pa.Table:
        """The same, but those at `gone`; a file that isn't the one that Iceberg entered is `Damaged`."""
        positions = self._deleted.positions(file)
        if gone is not None:
            positions = united([positions, gone.to_numpy()])
        return without(self._whole(file), positions)

    def placed(self, file: FileRef) -> tuple[pa.Table, np.ndarray]:
        """The same, and the position of each row in the file."""
        rows, positions = self._whole(file), self._deleted.positions(file)
        return without(rows, positions), np.flatnonzero(_stays(rows.num_rows, positions))

    def _whole(self, file: FileRef) -> pa.Table:
        rows = read_file(self._warehouse, file.path)
        if rows.num_rows != file.rows + file.marked:
            raise Damaged(
                f"the file {file.path} is not the one that was written",
                detail=f"it has {rows.num_rows} rows instead of {file.rows + file.marked}.",
            )
        return rows


def without(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    """A file's rows but those at some positions."""
    if not len(positions):
        return rows
    return rows.filter(pa.array(_stays(rows.num_rows, positions)))


def _stays(rows: int, positions: np.ndarray) -> np.ndarray:
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
    """Write what stays of the touched files, and what the change adds, as new data files."""
    stored, live = layout.arrow, LiveRows(warehouse)
    kept = [stored_rows(live.read(file, removal.positions.get(file.path)), stored) for file in touched]
    kept += [stored_rows(added_rows(read_file(warehouse, path)), stored) for path in changes]
    return write_rows(warehouse, pa.concat_tables(kept), layout, folder, "rows")
