"""Conversion between our schema, Iceberg's and Arrow's.

Iceberg has no TINYINT and SMALLINT: they are stored as int and read back as declared, which the
lake remembers in its own schema.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa
from pyiceberg import types as iceberg
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema as IcebergSchema

from anabranch.errors import ForeignFormat, UnsupportedType
from anabranch.schema import Array, Atomic, Column, Decimal, Map, Schema, Struct, Type

_TO_ICEBERG: dict[str, iceberg.PrimitiveType] = {
    "boolean": iceberg.BooleanType(),
    "tinyint": iceberg.IntegerType(),
    "smallint": iceberg.IntegerType(),
    "int": iceberg.IntegerType(),
    "bigint": iceberg.LongType(),
    "float": iceberg.FloatType(),
    "double": iceberg.DoubleType(),
    "string": iceberg.StringType(),
    "binary": iceberg.BinaryType(),
    "date": iceberg.DateType(),
    "time": iceberg.TimeType(),
    "timestamp": iceberg.TimestamptzType(),
    "timestamp_ntz": iceberg.TimestampType(),
}

_FROM_ICEBERG: dict[type[iceberg.IcebergType], str] = {
    iceberg.BooleanType: "boolean",
    iceberg.IntegerType: "int",
    iceberg.LongType: "bigint",
    iceberg.FloatType: "float",
    iceberg.DoubleType: "double",
    iceberg.StringType: "string",
    iceberg.BinaryType: "binary",
    iceberg.FixedType: "binary",
    iceberg.DateType: "date",
    iceberg.TimeType: "time",
    iceberg.TimestamptzType: "timestamp",
    iceberg.TimestampType: "timestamp_ntz",
}

_TO_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


# -- Iceberg --------------------------------------------------------------------------------------


def to_iceberg(schema: Schema) -> IcebergSchema:
    """The Iceberg schema of a new table; Iceberg gives the final field ids at creation."""
    ids = itertools.count(1)
    return IcebergSchema(*_iceberg_fields(schema.columns, ids))


def _iceberg_fields(columns: tuple[Column, ...], ids: Iterator[int]) -> list[iceberg.NestedField]:
    return [
        iceberg.NestedField(
            field_id=next(ids),
            name=column.name,
            field_type=_iceberg_type(column.type, ids),
            required=not column.nullable,
            doc=column.comment,
        )
        for column in columns
    ]


def _iceberg_type(kind: Type, ids: Iterator[int]) -> iceberg.IcebergType:
    match kind:
        case Atomic(name):
            return _TO_ICEBERG[name]
        case Decimal(precision, scale):
            return iceberg.DecimalType(precision, scale)
        case Array(element, nullable):
            return iceberg.ListType(
                element_id=next(ids), element_type=_iceberg_type(element, ids), element_required=not nullable
            )
        case Map(key, value, nullable):
            return iceberg.MapType(
                key_id=next(ids),
                key_type=_iceberg_type(key, ids),
                value_id=next(ids),
                value_type=_iceberg_type(value, ids),
                value_required=not nullable,
            )
        case Struct(fields):
            return iceberg.StructType(*_iceberg_fields(fields, ids))


def from_iceberg(schema: IcebergSchema, declared: Schema | None = None) -> Schema:
    """Our schema of a table that another client made or altered.

    Columns that `declared` knows keep the declared type as long as it is stored the same way.
    """
    return Schema(_columns_from_iceberg(schema.fields, declared.columns if declared else ()))


def _columns_from_iceberg(
    fields: tuple[iceberg.NestedField, ...], declared: tuple[Column, ...]
) -> tuple[Column, ...]:
    known = {column.name: column.type for column in declared}
    return tuple(
        Column(
            field.name,
            _type_from_iceberg(field.field_type, known.get(field.name)),
            not field.required,
            field.doc,
        )
        for field in fields
    )


def _type_from_iceberg(kind: iceberg.IcebergType, declared: Type | None) -> Type:
    match kind:
        case iceberg.DecimalType():
            return Decimal(kind.precision, kind.scale)
        case iceberg.ListType():
            known = declared.element if isinstance(declared, Array) else None
            return Array(_type_from_iceberg(kind.element_type, known), not kind.element_required)
        case iceberg.MapType():
            key, value = (declared.key, declared.value) if isinstance(declared, Map) else (None, None)
            return Map(
                _type_from_iceberg(kind.key_type, key),
                _type_from_iceberg(kind.value_type, value),
                not kind.value_required,
            )
        case iceberg.StructType():
            return Struct(
                _columns_from_iceberg(kind.fields, declared.fields if isinstance(declared, Struct) else ())
            )
        case _:
            if isinstance(declared, Atomic) and _TO_ICEBERG[declared.name] == kind:
                return declared
            name = _FROM_ICEBERG.get(type(kind))
            if name is None:
                raise ForeignFormat(f"columns of the Iceberg type {kind} can't be read here")
            return Atomic(name)


def has_collections(schema: Schema) -> bool:
    """Whether there is a list or a map anywhere: Spark writes no field ids inside those."""

    def has_collection(kind: Type) -> bool:
        match kind:
            case Array() | Map():
                return True
            case Struct(fields):
                return any(has_collection(field.type) for field in fields)
            case _:
                return False

    return any(has_collection(column.type) for column in schema)


# -- Arrow ----------------------------------------------------------------------------------------


def to_arrow(schema: Schema) -> pa.Schema:
    """The Arrow schema in which incoming rows are checked: declared types, nullability apart."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in schema])


def stored_arrow_schema(schema: IcebergSchema) -> pa.Schema:
    """The Arrow schema in which a table's Parquet files are written, field ids included.

    Everything may be NULL there, as in the files that Spark writes: for Arrow, the fields of a struct
    that is NULL are NULLs too, even where they are NOT NULL.
    """
    return pa.schema([_make_nullable(field) for field in schema_to_pyarrow(schema)])


def _make_nullable(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_list(kind):
        kind = pa.list_(_make_nullable(kind.value_field))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_make_nullable(kind.value_field))
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_field, _make_nullable(kind.item_field))
    elif pa.types.is_struct(kind):
        kind = pa.struct([_make_nullable(part) for part in kind])
    return field.with_type(kind).with_nullable(True)


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a declared type."""
    match kind:
        case Atomic(name):
            return _TO_ARROW[name]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element, _):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Map(key, value, _):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])


def is_arrow_schema(value: object) -> bool:
    """Whether a value is an Arrow schema."""
    return isinstance(value, pa.Schema)


def from_arrow(schema: pa.Schema) -> Schema:
    """Our schema for an Arrow one; types that Spark doesn't have become the next wider one."""
    return Schema(tuple(_column_from_arrow(field) for field in schema))


def _column_from_arrow(field: pa.Field) -> Column:
    return Column(field.name, _type_from_arrow(field.type), field.nullable)


_ARROW_ATOMS: list[tuple[object, str]] = [
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "tinyint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_uint8, "smallint"),
    (pa.types.is_int32, "int"),
    (pa.types.is_uint16, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_uint32, "bigint"),
    (pa.types.is_float16, "float"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_string_view, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_binary_view, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
]


def _type_from_arrow(kind: pa.DataType) -> Type:
    if pa.types.is_dictionary(kind):
        return _type_from_arrow(kind.value_type)
    if pa.types.is_uint64(kind):
        return Decimal(20, 0)
    if pa.types.is_decimal(kind):
        return Decimal(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return Atomic("timestamp" if kind.tz else "timestamp_ntz")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Array(_type_from_arrow(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return Map(
            _type_from_arrow(kind.key_type), _type_from_arrow(kind.item_type), kind.item_field.nullable
        )
    if pa.types.is_struct(kind):
        return Struct(tuple(_column_from_arrow(field) for field in kind))
    for matches, name in _ARROW_ATOMS:
        if matches(kind):  # type: ignore[operator]
            return Atomic(name)
    raise UnsupportedType(f"a table can't hold the Arrow type {kind}", hint="cast the column first.")
