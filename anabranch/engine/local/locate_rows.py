"""Finding the stored rows that a change takes away, without a key.

A change says which rows go, not where they are. Rows are equal if all their columns are, NULL with NULL,
NaN with NaN, and of equal rows any will do. Where few rows of a large table go, those that have the same
values in one column are looked up and compared; where the table is small enough to be read here, all are;
for the rest the engine is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engine.local.columns import Columns
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.lookup import Finder, Found, Limits, TooMuch
from anabranch.engine.local.packed import has_numbers
from anabranch.errors import Damaged
from anabranch.iceberg.equal_rows import refine_row_numbers
from anabranch.iceberg.live_rows import LiveRows
from anabranch.iceberg.parquet_files import (
    FileRef,
    Layout,
    Removal,
    positions_by_file,
    read_file,
    to_stored_columns,
)
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.warehouse import Warehouse
from anabranch.names import FILE, POSITION, WEIGHT

LOOSE, LOOSE_ROWS = 10, 50_000
"""How many rows may have to be compared for each that goes, and in all."""


@dataclass(frozen=True)
class ChangeSize:
    """How much a change is: weighted rows, occurrences that come and go, bytes."""

    rows: int = 0
    inserted: int = 0
    deleted: int = 0
    size: int = 0


def change_size(warehouse: Warehouse, changes: Sequence[str]) -> ChangeSize:
    """What change files amount to; only their weights are read."""
    if not changes:
        return ChangeSize()
    weights = pa.chunked_array(
        [chunk for path in changes for chunk in read_file(warehouse, path, [WEIGHT])[WEIGHT].chunks]
    ).to_numpy()
    return ChangeSize(
        rows=len(weights),
        inserted=int(weights[weights > 0].sum()),
        deleted=-int(weights[weights < 0].sum()),
        size=sum(warehouse.read_size(path) for path in changes),
    )


def found_by_engine(warehouse: Warehouse, located: Sequence[str], size: ChangeSize, name: str) -> Removal:
    """The positions that the engine found for the rows that go."""
    together = [read_file(warehouse, path, [FILE, POSITION]) for path in located]
    rows = pa.concat_tables(together) if together else pa.table({FILE: [], POSITION: []})
    return _checked(positions_by_file(rows), size, name)


def find_rows(
    warehouse: Warehouse,
    files: Sequence[FileRef],
    changes: Sequence[str],
    layout: Layout,
    size: ChangeSize,
    name: str,
) -> Removal:
    """The positions of the rows that go, found by reading all files."""
    live = LiveRows(warehouse)
    read = (Found(file, *reversed(live.read_with_positions(file))) for file in files)
    return _found_among(list(read), _gone(warehouse, changes), layout, size, name)


def look_for_rows(
    warehouse: Warehouse,
    columns: Columns,
    files: Sequence[FileRef],
    changes: Sequence[str],
    layout: Layout,
    size: ChangeSize,
    name: str,
    *,
    most: int,
) -> Removal | None:
    """The same, found by looking up the values of one column; None if none tells rows apart well enough.

    `most`: bytes of Parquet that may be read.
    """
    gone = _gone(warehouse, changes)
    stored = to_stored_columns(gone, layout.arrow)
    key = telling_column(stored)
    if key is None:
        return None
    keys = {key: pc.unique(stored[key])}
    finder = Finder(warehouse, columns, layout.arrow.names, keys, DeletedPositions(warehouse, columns.marks))
    limits = Limits(rows=LOOSE_ROWS + LOOSE * size.deleted, size=most)
    try:
        return _found_among(list(finder.found(files, limits)), gone, layout, size, name)
    except (TooMuch, Elsewhere):
        return None


def telling_column(rows: pa.Table) -> str | None:
    """The column with the most values, of those that rows can be searched by.

    >>> telling_column(pa.table({"kind": [1, 1, 2], "id": [7, 8, 9], "rate": [0.1, 0.2, 0.3]}))
    'id'
    """
    searched = [field.name for field in rows.schema if has_numbers(field.type)]
    return max(searched, key=lambda name: pc.count_distinct(rows[name]).as_py(), default=None)


def _gone(warehouse: Warehouse, changes: Sequence[str]) -> pa.Table:
    """The rows that a change takes away, with their weights."""
    change = pa.concat_tables(read_file(warehouse, path) for path in changes)
    return change.filter(pc.less(change[WEIGHT], 0))


def _found_among(
    read: Sequence[Found], gone: pa.Table, layout: Layout, size: ChangeSize, name: str
) -> Removal:
    """The positions of the rows that go, among rows that were read."""
    columns = [to_stored_columns(part, layout.arrow) for part in (gone, *(found.rows for found in read))]
    rows = pa.concat_tables(columns).combine_chunks()
    places = _first_of_each(_matches(rows, gone.num_rows), -gone[WEIGHT].to_numpy())
    starts = np.cumsum([0, *(len(found.positions) for found in read)])
    positions = {}
    for found, start, end in zip(read, starts[:-1], starts[1:], strict=True):
        inside = places[(places >= start) & (places < end)] - start
        if len(inside):
            positions[found.file.path] = pa.array(found.positions[inside])
    return _checked(positions, size, name)


def _matches(rows: pa.Table, wanted: int) -> np.ndarray:
    """For every stored row the number of the wanted row it equals, or -1; wanted rows stand first."""
    # Column by column, and only what still equals a wanted row is looked at again.
    left = np.arange(rows.num_rows)
    groups = np.zeros(rows.num_rows, dtype=np.int64)
    for column in rows.columns:
        groups = refine_row_numbers(groups, column.take(pa.array(left)))
        alive = np.isin(groups, groups[:wanted])
        alive[:wanted] = True
        left, groups = left[alive], groups[alive]
    number = np.full(groups.max(initial=0) + 1, -1)
    number[groups[:wanted]] = np.arange(wanted)
    result = np.full(rows.num_rows - wanted, -1)
    result[left[wanted:] - wanted] = number[groups[wanted:]]
    return result


def _first_of_each(matches: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The places of as many rows of each kind as are wanted."""
    places = np.flatnonzero(matches >= 0)
    kinds = matches[places]
    order = np.argsort(kinds, kind="stable")
    places, kinds = places[order], kinds[order]
    starts = np.searchsorted(kinds, kinds, side="left")
    return np.sort(places[np.arange(len(kinds)) - starts < wanted[kinds]])


def _checked(positions: dict[str, pa.Array], size: ChangeSize, name: str) -> Removal:
    found = sum(len(places) for places in positions.values())
    if found != size.deleted:
        raise Damaged(
            f'the stored rows of "{name}" are not the ones that its change takes away',
            detail=f"{size.deleted} rows go, {found} of them are stored.",
            hint="a full refresh makes it right again.",
        )
    return Removal(positions, rows=size.rows, removed=found, size=size.size)
