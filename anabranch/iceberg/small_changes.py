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
    if not paths or sum(warehouse.read_size(path) for path in paths) > (
        SMALL_BYTES if most is None else most
    ):
        return None
    return _net_rows(*_read_weighted_rows(warehouse, signed, declared))


def read_changed_rows(warehouse: Warehouse, signed: SignedFiles, schema: Schema, *, net: bool) -> pa.Table:
    """The rows of a change with their weights in `__weight`; `net`: equal ones are added up."""
    rows, weights = _read_weighted_rows(warehouse, signed, to_arrow(schema))
    if net and is_comparable(rows.schema):
        return _net_rows(rows, weights)
    return rows.append_column(WEIGHT, pa.array(weights, pa.int64()))


def _read_weighted_rows(
    warehouse: Warehouse, signed: SignedFiles, declared: pa.Schema
) -> tuple[pa.Table, np.ndarray]:
    """All rows of a change, and the weight of each."""
    parts: list[pa.Table] = [declared.empty_table()]
    weights: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    live = LiveRows(warehouse)
    # A file may be in both lists, with other position deletes.
    for files, weight in ((signed.plus, 1), (signed.minus, -1)):
        for file in files:
            rows = live.without_deleted(_read_columns(warehouse, file.path, declared.names), file)
            parts.append(to_declared_columns(rows, declared))
            weights.append(np.full(rows.num_rows, weight, dtype=np.int64))
    for path in signed.weighted:
        rows = _read_columns(warehouse, path, [*declared.names, WEIGHT])
        parts.append(to_declared_columns(rows, declared))
        weights.append(rows[WEIGHT].to_numpy().astype(np.int64))
    return pa.concat_tables(parts), np.concatenate(weights)


def _read_columns(warehouse: Warehouse, path: str, names: list[str]) -> pa.Table:
    """Some columns of a file; all, where it spells them in another way or lacks some."""
    rows = read_file(warehouse, path, names)
    return read_file(warehouse, path) if set(names) - set(rows.column_names) else rows


def read_changed_columns(warehouse: Warehouse, signed: SignedFiles, columns: Schema) -> pa.Table:
    """Some columns of every row of a change, inserted or deleted; rows that cancel count, too."""
    declared = to_arrow(columns)
    parts = [declared.empty_table()]
    for path in dict.fromkeys([*(file.path for file in (*signed.plus, *signed.minus)), *signed.weighted]):
        parts.append(to_declared_columns(_read_columns(warehouse, path, declared.names), declared))
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
