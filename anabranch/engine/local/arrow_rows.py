"""Rows of a computation that are held here between its statements."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of several tables of the same columns."""
    return pa.concat_tables(tables).combine_chunks()


def signed(rows: pa.Table, weight: str) -> tuple[pa.Table, pa.Table]:
    """The rows of positive weight, and those of negative weight, without it."""
    weights, plain = rows.column(weight), rows.drop_columns([weight])
    return plain.filter(pc.greater(weights, 0)), plain.filter(pc.less(weights, 0))
