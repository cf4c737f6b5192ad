"""A small change as Arrow data: what a statement reads of it is then at hand, and no job reads it again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from anabranch.schema import Schema
from anabranch.storage.equal import comparable, groups
from anabranch.storage.files import WEIGHT, read_file
from anabranch.storage.scan import declared_rows
from anabranch.storage.types import to_arrow
from anabranch.storage.warehouse import Warehouse

SMALL_BYTES = 2 << 20
"""Parquet bytes of a change that is read here."""


def small_change(
    warehouse: Warehouse, plus: Sequence[str], minus: Sequence[str], weighted: Sequence[str], schema: Schema
) -> pa.Table | None:
    """The rows of a change with their net weight in `__weight`; None if there is too much of it."""
    declared = to_arrow(schema)
    files = [*plus, *minus, *weighted]
    if not comparable(declared) or any(pa.types.is_time(field.type) for field in declared):
        return None
    if sum(warehouse.size(path) for path in files) > SMALL_BYTES:
        return None
    parts: list[pa.Table] = []
    weights: list[np.ndarray] = []
    # A file that came and went within the interval stands in both lists.
    for paths, weight in ((plus, 1), (minus, -1), (weighted, None)):
        for path in paths:
            found = read_file(warehouse, path)
            parts.append(declared_rows(found, declared))
            own = found[WEIGHT].to_numpy() if weight is None else np.full(found.num_rows, weight)
            weights.append(own.astype(np.int64))
    if not parts:
        return None
    return _net(pa.concat_tables(parts), np.concatenate(weights))


def net_rows(
    warehouse: Warehouse, plus: Sequence[str], minus: Sequence[str], weighted: Sequence[str], schema: Schema
) -> int | None:
    """How many rows came and went, those that cancel left out; None if there is too much to tell."""
    change = small_change(warehouse, plus, minus, weighted, schema)
    return None if change is None else int(np.abs(change[WEIGHT].to_numpy()).sum())


def _net(rows: pa.Table, weights: np.ndarray) -> pa.Table:
    numbers = groups(rows)
    totals = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(totals, numbers, weights)
    _, firsts = np.unique(numbers, return_index=True)
    stays = np.flatnonzero(totals)
    kept = rows.take(pa.array(firsts[stays]))
    return kept.append_column(WEIGHT, pa.array(totals[stays], pa.int64()))
