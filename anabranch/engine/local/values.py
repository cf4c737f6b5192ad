"""Between Arrow's columns and rows of Python values, as `here` computes with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.engine.local.held import Held
from anabranch.engine.local.kinds import VOID, Elsewhere, Kind, Void, is_float, is_held, is_whole, limit
from anabranch.errors import UnsupportedType
from anabranch.iceberg.type_mapping import arrow_type, from_arrow
from anabranch.schema import Atomic, Decimal, Schema

_NUMBERED = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}
"""Types whose values are numbers here."""
_WORD = 64
_SHORT = 18
"""Digits of a decimal that one word holds."""


def held_rows(table: pa.Table, names: tuple[str, ...], *, weight: bool = False) -> Held:
    """The rows of a table, its columns by position, under other names; `weight`: one more is the weight."""
    kinds = tuple(_kind(table.schema.field(place)) for place in range(len(names)))
    try:
        columns = [values(table.column(place), kind) for place, kind in enumerate(kinds)]
    except UnicodeDecodeError as error:  # Spark lets bytes be text that aren't
        raise Elsewhere("text that isn't") from error
    rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return Held(names, kinds, rows, table.column(len(names)).to_pylist() if weight else None)


def _kind(field: pa.Field) -> Kind:
    if pa.types.is_null(field.type):
        return VOID
    try:
        (column,) = from_arrow(pa.schema([field.with_name("value")]))
    except UnsupportedType as error:
        raise Elsewhere(str(error)) from error
    if not is_held(column.type):
        raise Elsewhere(f"values of {column.type}")
    return column.type


def values(column: pa.ChunkedArray, kind: Kind) -> list[Any]:
    """A column's values."""
    if isinstance(kind, Decimal):
        return [value for chunk in column.chunks for value in _unscaled(chunk)]
    if isinstance(kind, Atomic) and (number := _NUMBERED.get(kind.name)) is not None:
        unit = pa.date32() if kind.name == "date" else pa.timestamp("us", tz=column.type.tz)
        found: list[Any] = column.cast(unit).cast(number).to_pylist()
        return found
    found = column.to_pylist()
    return [_plain(value) for value in found] if is_float(kind) else found


def _plain(value: float | None) -> float | None:
    """One NaN, and no minus zero."""
    if value is None:
        return None
    return math.nan if math.isnan(value) else value + 0.0


def _unscaled(column: pa.Array) -> list[int | None]:
    """The numbers of decimals, without their points."""
    column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    words = np.frombuffer(column.buffers()[1] or b"", dtype=np.int64)
    words = words[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
    low: list[Any] = words[:, 0].tolist()
    if column.type.precision > _SHORT:
        high, low = words[:, 1].tolist(), words[:, 0].view(np.uint64).tolist()
        low = [(upper << _WORD) + lower for upper, lower in zip(high, low, strict=True)]
    if not column.null_count:
        return low
    return [value if there else None for value, there in zip(low, column.is_valid().to_pylist(), strict=True)]


def arrow_rows(held: Held, names: Sequence[str], weight: str | None = None) -> pa.Table:
    """Rows as a table, its columns in order under these names; with their weights in the last one."""
    columns = [_column(kind, place, held) for place, kind in enumerate(held.kinds)]
    names = list(names)
    if weight is not None:
        columns.append(pa.array([times for _, times in held.weighed()], pa.int64()))
        names.append(weight)
    return pa.table(columns, names=names)


def _column(kind: Kind, place: int, held: Held) -> pa.Array:
    found = [row[place] for row in held.rows]
    if isinstance(kind, Void):
        return pa.nulls(len(found))
    wanted = arrow_type(kind)
    if isinstance(kind, Decimal):
        empty = bytes(16)
        raw = b"".join([empty if v is None else v.to_bytes(16, "little", signed=True) for v in found])
        valid = pa.array([value is not None for value in found], pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(wanted, len(found), [valid, pa.py_buffer(raw)])
    if isinstance(kind, Atomic) and (number := _NUMBERED.get(kind.name)) is not None:
        return pa.array(found, number).view(wanted)
    return pa.array(found, wanted)


def kinds_of(schema: Schema) -> tuple[Kind, ...]:
    """The types of a table's columns; one that can't be computed with here isn't for here."""
    for column in schema:
        if not is_held(column.type):
            raise Elsewhere(f"values of {column.type}")
    return tuple(column.type for column in schema)


def key_values(schema: Schema, name: str, keyed: tuple[Kind, Sequence[Any]]) -> pa.Array:
    """Values to look up in a column, in its type; those that it can't have are left out.

    Floating point is compared in its own way, and types that differ may be: that isn't for here.
    """
    column, (kind, wanted) = schema.find(name), keyed
    assert column is not None
    if kind != column.type and not (is_whole(kind) and is_whole(column.type)):
        raise Elsewhere(f"{kind} is looked up among {column.type}")
    if not is_held(column.type) or is_float(kind):
        raise Elsewhere(f"{kind} is looked up")
    if is_whole(kind):
        low, high = limit(column.type)
        wanted = [value for value in wanted if value is None or low <= value <= high]
    rows = [(value,) for value in wanted]
    return _column(column.type, 0, Held((name,), (column.type,), rows))
