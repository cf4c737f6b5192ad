"""Reads a small change as Arrow data, which a statement is handed so that no Spark job reads it again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anabranch.iceberg.change_files import SignedFiles
from anabranch.iceberg.equal_rows import is_comparable, number_equal_rows
from anabranch.iceberg.live_rows import LiveRows
from anabranch.iceberg.parquet_files import read_file
from anabranch.iceberg.read_rows import to_declared_columns
from anabranch.iceberg.type_mapping import to_arrow
from anabranch.iceberg.warehouse import Warehouse
from anabranch.names import WEIGHT
from anabranch.schema import Schema

SMALL_BYTES = 2 << 20
"""Parquet bytes of a change that is read in this process for the engine."""
HELD_BYTES = 16 << 20
"""Parquet bytes of a change that the local engine computes with."""


def read_small_change(
    warehouse: Warehouse, signed: SignedFiles, schema: Schema, most: int | None = None
) -> pa.Table | None:
    """The rows of a change with their net weight in `__weight`; None if it has more than `most` bytes."""
    declared = to_arrow(schema)
    paths = [*(file.path for file in (*signed.plus, *signed.minus)), *signed.weighted]
    if not is_comparable(declared) or any(pa.types.is_time(field.type) for field in declared):
        return None
    if sum(warehouse.read_size(path) for path in paths) > (SMALL_BYTES if most is None else most):
        return None
    parts: list[pa.Table] = []
    weights: list[np.ndarray] = []
    live = LiveRows(warehouse)
    # A file may be in both lists, with other position deletes.
    for files, weight in ((signed.plus, 1), (signed.minus, -1)):
        for file in files:
            parts.append(to_declared_columns(live.read_unchecked(file), declared))
            weights.append(np.full(parts[-1].num_rows, weight, dtype=np.int64))
    for path in signed.weighted:
        found = read_file(warehouse, path)
        parts.append(to_declared_columns(found, declared))
        weights.append(found[WEIGHT].to_numpy().astype(np.int64))
    if not parts:
        return None
    return _net_rows(pa.concat_tables(parts), np.concatenate(weights))


def read_changed_columns(warehouse: Warehouse, signed: SignedFiles, columns: Schema) -> pa.Table:
    """Some columns of every row of a change, inserted or deleted; rows that cancel count, too."""
    declared = to_arrow(columns)
    parts = [declared.empty_table()]
    for path in dict.fromkeys([*(file.path for file in (*signed.plus, *signed.minus)), *signed.weighted]):
        found = read_file(warehouse, path, declared.names)
        if set(declared.names) - set(found.column_names):  # spelled in another way, or added later
            found = read_file(warehouse, path)
        parts.append(to_declared_columns(found, declared))
    return pa.concat_tables(parts)


def count_net_rows(warehouse: Warehouse, signed: SignedFiles, schema: Schema) -> int | None:
    """How many rows were inserted and deleted, without those that cancel; None if the change is too large."""
    if not signed:
        return 0
    change = read_small_change(warehouse, signed, schema)
    return None if change is None else int(np.abs(change[WEIGHT].to_numpy()).sum())


def _net_rows(rows: pa.Table, weights: np.ndarray) -> pa.Table:
    numbers = number_equal_rows(rows)
    totals = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(totals, numbers, weights)
    _, firsts = np.unique(numbers, return_index=True)
    stays = np.flatnonzero(totals)
    kept = rows.take(pa.array(firsts[stays]))
    return kept.append_column(WEIGHT, pa.array(totals[stays], pa.int64()))
