"""A schema as people hand it over: a DDL string, a Spark StructType, an Arrow schema, or ours."""

from __future__ import annotations

from typing import Any

from anabranch.errors import InvalidSchema
from anabranch.iceberg.type_mapping import from_arrow, is_arrow_schema
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema


def parse_schema_argument(value: Any) -> Schema:
    """The schema, whatever form it was given in."""
    if isinstance(value, Schema):
        return value
    if isinstance(value, str):
        return parse_schema(value)
    if is_arrow_schema(value):
        return from_arrow(value)
    # Spark's StructType, without importing Spark for it.
    if type(value).__name__ == "StructType" and hasattr(value, "jsonValue"):
        return Schema.from_json(value.jsonValue())
    raise InvalidSchema(
        f"a schema can't be read from a {type(value).__name__}",
        hint="give a DDL string, a Spark StructType or an Arrow schema.",
    )
