"""Reads a version's rows with Arrow: all of them, for results that fit into memory, or the first few.

Spark is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.errors import Damaged
from anabranch.iceberg.live_rows import LiveRows, drop_positions
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.type_mapping import to_arrow
from anabranch.iceberg.warehouse import Warehouse
from anabranch.schema import Schema

READ_AHEAD = 1 << 16
"""Bytes of a column that are fetched at once where only its beginning is wanted."""


def read_rows(warehouse: Warehouse, files: Sequence[FileRef], schema: Schema) -> pa.Table:
    """The rows of data files, in declared types; a column that an older file lacks is NULL."""
    declared, live = to_arrow(schema), LiveRows(warehouse)
    parts = [to_declared_columns(live.read(file), declared) for file in files]
    return pa.concat_tables(parts) if parts else declared.empty_table()


def read_first_rows(
    warehouse: Warehouse, files: Sequence[FileRef], schema: Schema, limit: int
) -> tuple[tuple[Any, ...], ...]:
    """Up to `limit` rows of data files as Python values; no more is read than they need."""
    declared, deleted = to_arrow(schema), DeletedPositions(warehouse)
    found: list[tuple[Any, ...]] = []
    for file in files:
        if len(found) >= limit:
            break
        wanted = limit - len(found)
        marks = deleted.read_positions(file)
        live = drop_positions(_read_file_head(warehouse, file.path, _rows_to_read(marks, wanted)), marks)
        rows = to_declared_columns(live, declared)
        found += zip(*(_python_values(column) for column in rows.columns), strict=True)
    return tuple(found)


def _rows_to_read(marks: np.ndarray, wanted: int) -> int:
    """How many rows of a file have to be read to get `wanted` that aren't deleted.

    >>> _rows_to_read(np.array([1, 2, 5]), 3)
    5
    """
    reach = wanted
    while (further := wanted + int(np.searchsorted(marks, reach))) > reach:
        reach = further
    return reach


def _read_file_head(warehouse: Warehouse, path: str, limit: int) -> pa.Table:
    """The first rows of a file, from its first row groups."""
    try:
        with warehouse.open(path) as stream:
            file = pq.ParquetFile(stream, pre_buffer=False, buffer_size=READ_AHEAD)
            batch = next(file.iter_batches(batch_size=limit), None)
            if batch is None:
                return file.schema_arrow.empty_table()
            return pa.Table.from_batches([batch]).slice(0, limit)
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"the file {path} can't be read", detail=str(error).splitlines()[0][:300]) from error


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    """A column's values; times that Python can't have (after the year 9999) as text, in days or µs."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        values = [_python_value(scalar) for scalar in column]
    return values


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        match scalar:
            case pa.StructScalar():
                return {name: _python_value(value) for name, value in scalar.items()}
            case pa.MapScalar():
                return [tuple(_python_value(part) for part in entry.values()) for entry in scalar.values]
            case pa.ListScalar():
                return [_python_value(value) for value in scalar.values]
            case _:
                return str(scalar.value)


def to_declared_columns(rows: pa.Table, declared: pa.Schema) -> pa.Table:
    """Stored rows in declared columns and types; a column that they lack is NULL."""
    present = {name.lower(): index for index, name in enumerate(rows.column_names)}
    columns = [
        rows.column(present[field.name.lower()])
        if field.name.lower() in present
        else pa.nulls(rows.num_rows, field.type)
        for field in declared
    ]
    return pa.table(columns, names=declared.names).cast(declared)
