"""Which rows of a table are equal, in all columns: NULL with NULL, NaN with NaN, minus zero with zero."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def is_comparable(schema: pa.Schema) -> bool:
    """Whether this module can compare rows of this schema: lists, maps and structs it can't."""
    return not any(pa.types.is_nested(field.type) for field in schema)


def value_codes(values: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """A number for every value, the same for equal ones."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_floating(values.type):
        # Minus zero is zero.
        values = pc.add(values, pa.scalar(0, values.type))
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    encoded = values.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def number_equal_rows(rows: pa.Table) -> np.ndarray:
    """A number for every row, the same for equal ones."""
    result = np.zeros(rows.num_rows, dtype=np.int64)
    for column in rows.columns:
        result = refine_row_numbers(result, column)
    return result


def refine_row_numbers(numbers: np.ndarray, values: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Numbers of groups of rows, split further by one more column."""
    found = value_codes(values)
    _, result = np.unique(numbers * (found.max(initial=0) + 1) + found, return_inverse=True)
    return result
