"""A small change as Arrow data: what a statement reads of it is then at hand, and no job reads it again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anabranch.schema import Schema
from anabranch.storage.changes import Signed
from anabranch.storage.equal import comparable, groups
from anabranch.storage.files import WEIGHT, read_file
from anabranch.storage.live import LiveRows
from anabranch.storage.scan import declared_rows
from anabranch.storage.types import to_arrow
from anabranch.storage.warehouse import Warehouse

SMALL_BYTES = 2 << 20
"""Parquet bytes of a change that is read here, to be handed on."""
HELD_BYTES = 16 << 20
"""Parquet bytes of a change that is computed with here."""


def small_change(
    warehouse: Warehouse, signed: Signed, schema: Schema, most: int | None = None
) -> pa.Table | None:
    """The rows of a change with their net weight in `__weight`; None if it has more than `most` bytes."""
    declared = to_arrow(schema)
    paths = [*(file.path for file in (*signed.plus, *signed.minus)), *signed.weighted]
    if not comparable(declared) or any(pa.types.is_time(field.type) for field in declared):
        return None
    if sum(warehouse.size(path) for path in paths) > (SMALL_BYTES if most is None else most):
        return None
    parts: list[pa.Table] = []
    weights: list[np.ndarray] = []
    live = LiveRows(warehouse)
    # A file may stand in both lists, with other rows marked as gone.
    for files, weight in ((signed.plus, 1), (signed.minus, -1)):
        for file in files:
            parts.append(declared_rows(live.of(file), declared))
            weights.append(np.full(parts[-1].num_rows, weight, dtype=np.int64))
    for path in signed.weighted:
        found = read_file(warehouse, path)
        parts.append(declared_rows(found, declared))
        weights.append(found[WEIGHT].to_numpy().astype(np.int64))
    if not parts:
        return None
    return _net(pa.concat_tables(parts), np.concatenate(weights))


def net_rows(warehouse: Warehouse, signed: Signed, schema: Schema) -> int | None:
    """How many rows came and went, those that cancel left out; None if there is too much to tell."""
    if not signed:
        return 0
    change = small_change(warehouse, signed, schema)
    return None if change is None else int(np.abs(change[WEIGHT].to_numpy()).sum())


def _net(rows: pa.Table, weights: np.ndarray) -> pa.Table:
    numbers = groups(rows)
    totals = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(totals, numbers, weights)
    _, firsts = np.unique(numbers, return_index=True)
    stays = np.flatnonzero(totals)
    kept = rows.take(pa.array(firsts[stays]))
    return kept.append_column(WEIGHT, pa.array(totals[stays], pa.int64()))
