"""Conversion between our schemas and Spark's."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from anabranch.errors import InvalidValue
from anabranch.schema import Column, Schema, can_store

_CHECKED = (ArrayType, MapType, StructType, BinaryType, TimeType, TimestampType, TimestampNTZType)


def spark_schema(schema: Schema, *, stored: bool = False) -> StructType:
    """Spark's schema, everything nullable; `stored`: in the types that Parquet files hold."""
    declared = StructType.fromJson(schema.to_json())
    return StructType(
        [StructField(field.name, _nullable_type(field.dataType, stored), True) for field in declared.fields]
    )


def _nullable_type(kind: DataType, stored: bool) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable_type(kind.elementType, stored), True)
    if isinstance(kind, MapType):
        return MapType(_nullable_type(kind.keyType, stored), _nullable_type(kind.valueType, stored), True)
    if isinstance(kind, StructType):
        return StructType(
            [StructField(f.name, _nullable_type(f.dataType, stored), True) for f in kind.fields]
        )
    if stored and kind.simpleString() in ("tinyint", "smallint"):
        return IntegerType()
    return kind


def check_storable(field: StructField, column: Column, table: str) -> None:
    """Refuse what Spark would store by dropping nested fields, taking bytes for text or today for a date."""
    kind = field.dataType
    if not isinstance(kind, _CHECKED) or "void" in kind.simpleString():
        return
    given = Schema.from_json(StructType([StructField("value", kind)]).jsonValue()).columns[0].type
    if not can_store(given, column.type):
        raise InvalidValue(
            f'a value doesn\'t fit "{table}.{column.name}" {column.type}', detail=f"the values are {given}."
        )


def field_id_metadata(field_id: int | None) -> dict[str, Any]:
    """What makes Spark write an Iceberg field id into a Parquet file."""
    return {} if field_id is None else {"parquet.field.id": field_id}
