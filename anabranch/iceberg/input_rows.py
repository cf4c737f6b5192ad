"""Rows as people hand them over, checked and turned into Arrow. Spark is not needed for this.

Nothing is guessed: a text is not a number, a fraction is not an integer, a NULL is not a value for
a NOT NULL column. An error names the row and the column.
"""

from __future__ import annotations

import datetime as dt
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal as Exact
from numbers import Integral
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import InputError, InvalidValue, NullNotAllowed, UnknownColumn, UnsupportedType
from anabranch.iceberg.type_mapping import arrow_type, from_arrow, to_arrow
from anabranch.schema import Array, Atomic, Column, Decimal, Map, Schema, Struct, Type, can_store

_ARROW_REFUSALS = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
)


def input_column_names(rows: Any, schema: Schema) -> tuple[str, ...]:
    """The names of the columns that the rows have values for; a table's own as it spells them."""
    if isinstance(rows, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        names = list(rows.schema.names)
    elif _is_pandas(rows):
        names = list(rows.columns)
    elif isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
        names = list(dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row))
    else:
        names = list(schema.names)
    return tuple(
        column.name if isinstance(name, str) and (column := schema.find(name)) else str(name)
        for name in names
    )


def make_rereadable(rows: Any) -> Any:
    """The rows in a form that can be read again: a write that was overtaken starts over."""
    if isinstance(rows, pa.RecordBatchReader):
        return rows.read_all()
    return list(rows) if isinstance(rows, Iterator) else rows


def rows_to_arrow(rows: Any, schema: Schema, *, zone: str, table: str, incoming: bool = False) -> pa.Table:
    """Rows in declared types, columns in the table's order; missing columns are NULL.

    `rows` is a sequence of dicts or tuples, Arrow data or a pandas DataFrame. With
    `incoming` the rows are for a merge: columns that the table doesn't have are kept behind its
    own, and NULLs are not yet an error, because it isn't decided what becomes of a row.
    """
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    elif isinstance(rows, pa.RecordBatchReader):
        rows = rows.read_all()
    elif _is_pandas(rows):
        rows = _from_pandas(rows)
    if isinstance(rows, pa.Table):
        checked = _from_table(rows, schema, zone, table, extra=incoming)
    else:
        checked = _from_python(rows, schema, zone, table, extra=incoming)
    return checked if incoming else _check_nulls(checked, schema, table)


def _is_pandas(rows: Any) -> bool:
    return type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns")


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except _ARROW_REFUSALS as error:
        raise InvalidValue("the DataFrame can't be read", detail=_first_line(error)) from error


# -- Arrow ----------------------------------------------------------------------------------------


def _from_table(rows: pa.Table, schema: Schema, zone: str, table: str, extra: bool) -> pa.Table:
    places = _column_indexes(rows.column_names, schema, table, extra)
    columns = []
    for column in schema:
        index = places.get(column.name)
        if index is None:
            columns.append(pa.nulls(rows.num_rows, arrow_type(column.type)))
        else:
            columns.append(_cast(rows.column(index), column, zone, table))
    result = pa.table(columns, schema=to_arrow(schema))
    for index, name in enumerate(rows.column_names):
        if extra and schema.find(name) is None:
            result = result.append_column(name, rows.column(index))
    return result


def _cast(values: pa.ChunkedArray, column: Column, zone: str, table: str) -> pa.ChunkedArray:
    target = arrow_type(column.type)
    if values.type == target:
        return values
    if pa.types.is_null(values.type):
        return pa.chunked_array([pa.nulls(len(values), target)])
    filled = _without_null_types(values.type, target)
    given = from_arrow(pa.schema([pa.field(column.name, filled)])).columns[0].type
    if not can_store(given, column.type):
        raise _mismatch_error(table, column, f"the column is {column.type}, the values are {given}.")
    try:
        # The same type in another Arrow form, or numbers that Arrow checks: nothing is lost unseen.
        if arrow_type(given) == target:
            return values.cast(target)
        if column.type in _CAST_NUMBERS and given in _CAST_NUMBERS:
            return _check_finite(values, values.cast(target))
        if isinstance(column.type, Decimal) and not pa.types.is_floating(values.type):
            exact = values.cast(pa.decimal128(20, 0)) if pa.types.is_integer(values.type) else values
            return exact.cast(target)
        if column.type in _CAST_TIMES and given in _CAST_TIMES:
            return _cast_time(values, given, column.type, zone)
    except _ARROW_REFUSALS as error:
        raise _mismatch_error(table, column, _first_line(error)) from error
    return pa.chunked_array([_build_array(values.to_pylist(), column, zone, table)])


_CAST_NUMBERS = tuple(Atomic(name) for name in ("tinyint", "smallint", "int", "bigint", "float", "double"))
_CAST_TIMES = (Atomic("date"), Atomic("timestamp"), Atomic("timestamp_ntz"))


def _without_null_types(kind: pa.DataType, target: pa.DataType) -> pa.DataType:
    """The type with parts that are always NULL (as in an empty list) taken from the target."""
    if pa.types.is_null(kind):
        return target
    if pa.types.is_list(kind) and pa.types.is_list(target):
        return pa.list_(_without_null_types(kind.value_type, target.value_type))
    if pa.types.is_map(kind) and pa.types.is_map(target):
        return pa.map_(
            _without_null_types(kind.key_type, target.key_type),
            _without_null_types(kind.item_type, target.item_type),
        )
    if pa.types.is_struct(kind) and pa.types.is_struct(target) and kind.num_fields == target.num_fields:
        pairs = zip(kind, target, strict=True)
        return pa.struct([(part.name, _without_null_types(part.type, wanted.type)) for part, wanted in pairs])
    return kind


def _check_finite(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_float32(after.type) and pc.any(pc.xor(pc.is_inf(before), pc.is_inf(after))).as_py():
        raise OverflowError("a number is too large")
    return after


def _cast_time(values: pa.ChunkedArray, given: Type, wanted: Type, zone: str) -> pa.ChunkedArray:
    """Between dates, local times and instants, in the lake's zone; a time of day is never cut off."""
    if given == Atomic("timestamp"):
        local = pc.local_timestamp(values.cast(pa.timestamp("us", tz=zone)))
    else:
        local = values.cast(pa.timestamp("us"))
    if wanted == Atomic("timestamp_ntz"):
        return local
    if wanted == Atomic("timestamp"):
        return _to_instants(local, zone)
    dates = local.cast(pa.date32())
    if not dates.cast(local.type).equals(local):
        raise ValueError("a timestamp with a time of day is not a date")
    return dates


def _to_instants(local: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """Local times as instants: of two the earlier, and what a gap skips moves on by the gap, as in Spark."""
    utc = pa.timestamp("us", tz="UTC")
    try:
        return pc.assume_timezone(local, zone, ambiguous="earliest").cast(utc)
    except pa.ArrowInvalid:
        info = ZoneInfo(zone)
        return pa.chunked_array(
            [[None if value is None else value.replace(tzinfo=info) for value in local.to_pylist()]], type=utc
        )


# -- Python values --------------------------------------------------------------------------------


def _from_python(rows: Any, schema: Schema, zone: str, table: str, extra: bool) -> pa.Table:
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise InputError(
            f'rows for "{table}" must be a list of dicts or tuples, Arrow data or a DataFrame',
            detail=f"a {type(rows).__name__} was given.",
        )
    listed: list[Any] = list(rows)
    if listed and isinstance(listed[0], Mapping):
        columns, others = _columns_by_name(listed, schema, table, extra)
    else:
        columns, others = _columns_by_position(listed, schema, table), {}
    arrays = [
        _build_array(columns[index], column, zone, table)
        if index in columns
        else pa.nulls(len(listed), arrow_type(column.type))
        for index, column in enumerate(schema)
    ]
    result = pa.table(arrays, schema=to_arrow(schema))
    for name, values in others.items():
        result = result.append_column(name, _infer_array(name, values, table))
    return result


def _infer_array(name: str, values: list[Any], table: str) -> pa.Array:
    """Values of a column that the table doesn't have, in the type that they suggest."""
    try:
        return pa.array(values)
    except _ARROW_REFUSALS as error:
        raise InvalidValue(
            f'the values of {ascii(name)[:60]} for "{table}" have no common type', detail=_first_line(error)
        ) from error


def _columns_by_name(
    rows: list[Any], schema: Schema, table: str, extra: bool
) -> tuple[dict[int, list[Any]], dict[str, list[Any]]]:
    index_of = {column.name.lower(): index for index, column in enumerate(schema)}
    columns: dict[int, list[Any]] = {}
    others: dict[str, list[Any]] = {}
    spelled: dict[int, str] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _bad_row_error(table, number, "the rows before it are dicts.")
        for key, value in row.items():
            index = index_of.get(key.lower()) if isinstance(key, str) else None
            if index is not None:
                if spelled.setdefault(index, key) != key and _has_key_twice(row, key):
                    raise _bad_row_error(table, number, f"it has the column {key!a} twice.")
                columns.setdefault(index, [None] * len(rows))[number] = value
            elif extra and isinstance(key, str):
                others.setdefault(key, [None] * len(rows))[number] = value
            else:
                raise _unknown_column_error(key, schema, table)
    return columns, others


def _has_key_twice(row: Mapping[Any, Any], key: str) -> bool:
    return sum(isinstance(other, str) and other.lower() == key.lower() for other in row) > 1


def _columns_by_position(rows: list[Any], schema: Schema, table: str) -> dict[int, list[Any]]:
    columns: dict[int, list[Any]] = {index: [] for index in range(len(schema))}
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Sequence):
            raise _bad_row_error(table, number, f"it is a {type(row).__name__}, not a tuple.")
        if len(row) != len(schema):
            raise _bad_row_error(
                table, number, f"it has {len(row)} values; the table has {len(schema)} columns."
            )
        for index, value in enumerate(row):
            columns[index].append(value)
    return columns


def _build_array(values: list[Any], column: Column, zone: str, table: str) -> pa.Array:
    target = arrow_type(column.type)
    convert = _converter(column.type, ZoneInfo(zone))
    try:
        return pa.array([None if value is None else convert(value) for value in values], type=target)
    except _ARROW_REFUSALS as error:
        number = _first_invalid_row(values, convert, target)
        detail = f"row {number + 1} has {_format_value(values[number])}; {_first_line(error)}"
        raise _mismatch_error(table, column, detail) from error


def _first_invalid_row(values: list[Any], convert: Callable[[Any], Any], target: pa.DataType) -> int:
    for number, value in enumerate(values):
        try:
            pa.array([None if value is None else convert(value)], type=target)
        except _ARROW_REFUSALS:
            return number
    return len(values) - 1


def _converter(kind: Type, zone: ZoneInfo) -> Callable[[Any], Any]:
    """What a Python value of this type becomes before Arrow takes it; a TypeError if it can't."""
    match kind:
        case Atomic("timestamp"):
            return lambda value: _to_aware_datetime(value, zone)
        case Atomic("timestamp_ntz"):
            return _check_naive_datetime
        case Atomic("boolean"):
            return _type_checker(bool)
        case Atomic("string"):
            return _type_checker(str)
        case Atomic("binary"):
            return _type_checker(bytes)
        case Atomic("time"):
            return _check_time
        case Atomic("tinyint" | "smallint" | "int" | "bigint"):
            return _to_integer
        case Atomic("float"):
            return _to_float32
        case Atomic("double"):
            return _to_float
        case Atomic("date"):
            return _check_date
        case Decimal(_, _):
            return _to_decimal
        case Array(element, _):
            inner = _converter(element, zone)
            return lambda value: [None if item is None else inner(item) for item in _check_sequence(value)]
        case Map(key, item, _):
            on_key, on_item = _converter(key, zone), _converter(item, zone)
            return lambda value: [
                (on_key(k), None if v is None else on_item(v)) for k, v in dict(value).items()
            ]
        case Struct(fields):
            return _struct_converter(fields, zone)
    raise UnsupportedType(f"a table can't hold the type {kind}")


def _struct_converter(fields: tuple[Column, ...], zone: ZoneInfo) -> Callable[[Any], Any]:
    converters = {field.name.lower(): (field.name, _converter(field.type, zone)) for field in fields}

    def convert(value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            items = list(value.items())
        else:
            parts = list(_check_sequence(value))
            if len(parts) != len(fields):
                raise ValueError(f"a struct of {len(fields)} fields, not {len(parts)}")
            items = [(field.name, part) for field, part in zip(fields, parts, strict=True)]
        result = {}
        for key, item in items:
            if not isinstance(key, str) or key.lower() not in converters:
                raise ValueError(f"the struct has no field {key!r}")
            name, inner = converters[key.lower()]
            if name in result:
                raise ValueError(f"the field {name} stands twice")
            result[name] = None if item is None else inner(item)
        return result

    return convert


def _check_sequence(value: Any) -> Iterable[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"a {type(value).__name__} is not a list")
    return value


def _type_checker(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"a {type(value).__name__} is not a {kind.__name__}")
        return value

    return check


def _to_integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("a bool is not an integer")
    if isinstance(value, (float, Exact)) and value == int(value):
        return int(value)
    return operator.index(value)


def _to_float(value: Any) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"a {type(value).__name__} is not a number")
    return float(value)


def _to_float32(value: Any) -> float:
    number = _to_float(value)
    struct.pack("<f", number)  # an OverflowError where Arrow would make it infinite
    return number


def _to_decimal(value: Any) -> Exact:
    # A float's shortest decimal text is what was meant: 9.99 is 9.99, not 9.9900000000000002.
    if isinstance(value, bool) or not isinstance(value, (Integral, float, Exact)):
        raise TypeError(f"a {type(value).__name__} is not a decimal number")
    if isinstance(value, Integral):
        return Exact(int(value))
    exact = Exact(repr(float(value))) if isinstance(value, float) else Exact(value)
    if not exact.is_finite():
        raise ValueError("a decimal number must be finite")
    return exact


def _check_date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        raise TypeError(f"a {type(value).__name__} is not a date")
    return value


def _check_time(value: Any) -> dt.time:
    if not isinstance(value, dt.time):
        raise TypeError(f"a {type(value).__name__} is not a time")
    if value.tzinfo is not None:
        raise TypeError("a TIME has no time zone, this value has one")
    return value


def _to_aware_datetime(value: Any, zone: ZoneInfo) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        raise TypeError(f"a {type(value).__name__} is not a timestamp")
    return value.replace(tzinfo=zone) if value.tzinfo is None else value


def _check_naive_datetime(value: Any) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        raise TypeError(f"a {type(value).__name__} is not a timestamp")
    if value.tzinfo is not None:
        raise TypeError("a TIMESTAMP_NTZ has no time zone, this value has one")
    return value


# -- NOT NULL -------------------------------------------------------------------------------------


def _check_nulls(rows: pa.Table, schema: Schema, table: str) -> pa.Table:
    for column in schema:
        values = rows.column(column.name)
        if not column.nullable and values.null_count:
            row = pc.index(values.is_null(), True).as_py() + 1
            raise NullNotAllowed(f'"{table}.{column.name}" is NOT NULL', detail=f"row {row} has no value.")
        for chunk in values.chunks:
            if (path := _nested_null_path(chunk, column.type, column.name)) is not None:
                raise NullNotAllowed(f'"{table}.{path}" is NOT NULL', detail="a row has no value there.")
    return rows


def _nested_null_path(values: pa.Array, kind: Type, path: str) -> str | None:
    """The path of a nested NOT NULL part that has a NULL, if any."""
    match kind:
        case Struct(fields):
            present = values.filter(values.is_valid())
            for index, field in enumerate(fields):
                inner = present.field(index) if present.offset == 0 else present.flatten()[index]
                if not field.nullable and inner.null_count:
                    return f"{path}.{field.name}"
                if found := _nested_null_path(inner, field.type, f"{path}.{field.name}"):
                    return found
        case Array(element, nullable):
            items = values.flatten()
            if not nullable and items.null_count:
                return f"{path}.element"
            return _nested_null_path(items, element, f"{path}.element")
        case Map(_, value, nullable):
            items = values.filter(values.is_valid()).items
            if not nullable and items.null_count:
                return f"{path}.value"
            return _nested_null_path(items, value, f"{path}.value")
        case _:
            pass
    return None


# -- errors ---------------------------------------------------------------------------------------


def _column_indexes(names: list[str], schema: Schema, table: str, extra: bool) -> dict[str, int]:
    places: dict[str, int] = {}
    for index, name in enumerate(names):
        column = schema.find(name)
        if column is None:
            if not extra:
                raise _unknown_column_error(name, schema, table)
            continue
        if column.name in places:
            raise InputError(f'the rows for "{table}" have the column "{column.name}" twice')
        places[column.name] = index
    return places


def _unknown_column_error(name: object, schema: Schema, table: str) -> UnknownColumn:
    return UnknownColumn(
        f'"{table}" has no column {ascii(name)[:60]}',
        hint="its columns are " + ", ".join(schema.names[:20]) + ".",
    )


def _bad_row_error(table: str, number: int, why: str) -> InvalidValue:
    return InvalidValue(f'row {number + 1} for "{table}" can\'t be read', detail=why)


def _mismatch_error(table: str, column: Column, detail: str) -> InvalidValue:
    return InvalidValue(f'a value doesn\'t fit "{table}.{column.name}" {column.type}', detail=detail)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".") + "."


def _format_value(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
