"""A version's rows by Arrow: all of them, for results that fit into memory, or the first few.

Spark is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.errors import Damaged
from anabranch.schema import Schema
from anabranch.storage.deletes import Deleted
from anabranch.storage.files import FileRef
from anabranch.storage.live import LiveRows, without
from anabranch.storage.types import to_arrow
from anabranch.storage.warehouse import Warehouse

READ_AHEAD = 1 << 16
"""Bytes of a column that are fetched at once where only its beginning is wanted."""


def read_rows(warehouse: Warehouse, files: Sequence[FileRef], schema: Schema) -> pa.Table:
    """The rows of data files, in declared types; a column that an older file lacks is NULL."""
    declared, live = to_arrow(schema), LiveRows(warehouse)
    parts = [declared_rows(live.read(file), declared) for file in files]
    return pa.concat_tables(parts) if parts else declared.empty_table()


def first_rows(
    warehouse: Warehouse, files: Sequence[FileRef], schema: Schema, limit: int
) -> tuple[tuple[Any, ...], ...]:
    """Up to `limit` rows of data files, as Python has them; no more is read than they need."""
    declared, deleted = to_arrow(schema), Deleted(warehouse)
    found: list[tuple[Any, ...]] = []
    for file in files:
        if len(found) >= limit:
            break
        wanted = limit - len(found)
        marks = deleted.positions(file)
        live = without(_beginning(warehouse, file.path, _reach(marks, wanted)), marks)
        rows = declared_rows(live, declared)
        found += zip(*(_values(column) for column in rows.columns), strict=True)
    return tuple(found)


def _reach(marks: np.ndarray, wanted: int) -> int:
    """How many rows of a file have to be read until so many of them aren't marked.

    >>> _reach(np.array([1, 2, 5]), 3)
    5
    """
    reach = wanted
    while (further := wanted + int(np.searchsorted(marks, reach))) > reach:
        reach = further
    return reach


def _beginning(warehouse: Warehouse, path: str, limit: int) -> pa.Table:
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


def _values(column: pa.ChunkedArray) -> list[Any]:
    """A column's values; times that Python can't have (after the year 9999) as text, in days or µs."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        values = [_value(scalar) for scalar in column]
    return values


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        match scalar:
            case pa.StructScalar():
                return {name: _value(value) for name, value in scalar.items()}
            case pa.MapScalar():
                return [tuple(_value(part) for part in entry.values()) for entry in scalar.values]
            case pa.ListScalar():
                return [_value(value) for value in scalar.values]
            case _:
                return str(scalar.value)


def declared_rows(rows: pa.Table, declared: pa.Schema) -> pa.Table:
    """Stored rows in declared columns and types; a column that they lack is NULL."""
    present = {name.lower(): index for index, name in enumerate(rows.column_names)}
    columns = [
        rows.column(present[field.name.lower()])
        if field.name.lower() in present
        else pa.nulls(rows.num_rows, field.type)
        for field in declared
    ]
    return pa.table(columns, names=declared.names).cast(declared)
