"""Rows whose floating-point numbers agree in most digits: the last ones depend on the order of additions."""

from __future__ import annotations

import pyarrow as pa

DIGITS = 9


def sort_rounded(rows: pa.Table) -> pa.Table:
    """The rows in an order of all columns, floating-point numbers as texts of a few digits."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            digits = [None if value is None else f"{value:.{DIGITS}g}" for value in rows[place].to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(digits, pa.string()))
    return rows.sort_by([(column, "ascending") for column in rows.column_names]).combine_chunks()
