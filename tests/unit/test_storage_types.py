"""Between our schema, Iceberg's and Arrow's: nothing is lost on the way."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from pyiceberg import types as iceberg
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from anabranch.errors import ForeignFormat
from anabranch.iceberg.parquet_files import Layout
from anabranch.iceberg.type_mapping import (
    from_arrow,
    from_iceberg,
    has_collections,
    stored_arrow_schema,
    to_arrow,
    to_iceberg,
)
from anabranch.schema import Array, Atomic, Column, Map, Schema, Struct
from tests.unit.types_strategies import SCHEMAS


@given(SCHEMAS)
def test_a_schema_comes_back_from_iceberg_if_it_is_remembered(schema):
    assert from_iceberg(to_iceberg(schema), schema) == schema


@given(SCHEMAS)
def test_what_iceberg_says_is_a_schema_that_it_would_say_again(schema):
    seen = from_iceberg(to_iceberg(schema))
    assert from_iceberg(to_iceberg(seen)) == seen
    assert seen.names == schema.names


@given(SCHEMAS)
def test_field_ids_are_unique_and_every_leaf_has_one(schema):
    fields = to_iceberg(schema)
    assert len(fields.field_ids) == len(set(fields.field_ids))
    assert set(Layout.from_schema(fields).field_ids) == set(schema.names)


@given(SCHEMAS)
def test_files_may_hold_null_everywhere_and_keep_their_field_ids(schema):
    stored = stored_arrow_schema(to_iceberg(schema))
    assert stored.names == list(schema.names)

    def check(field: pa.Field, *, key: bool = False) -> None:
        assert field.nullable or key
        assert b"PARQUET:field_id" in field.metadata
        if pa.types.is_struct(field.type):
            for part in field.type:
                check(part)
        elif pa.types.is_map(field.type):
            check(field.type.key_field, key=True)
            check(field.type.item_field)
        elif pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            check(field.type.value_field)

    for field in stored:
        check(field)


@given(SCHEMAS)
def test_arrow_knows_every_type_of_ours_and_ours_every_one_it_gives_back(schema):
    assert str(from_arrow(to_arrow(schema))) == str(_without_not_null(schema))


def _without_not_null(schema: Schema) -> Schema:
    def loose(kind):
        match kind:
            case Array(element, _):
                return Array(loose(element))
            case Map(key, value, _):
                return Map(loose(key), loose(value))
            case Struct(fields):
                return Struct(tuple(Column(field.name, loose(field.type)) for field in fields))
            case _:
                return kind

    return Schema(tuple(Column(column.name, loose(column.type)) for column in schema))


def test_small_integers_are_stored_as_integers_and_remembered():
    schema = Schema((Column("a", Atomic("tinyint")), Column("b", Array(Atomic("smallint")))))
    fields = to_iceberg(schema)
    assert [str(field.field_type) for field in fields.fields] == ["int", "list<int>"]
    assert str(from_iceberg(fields)) == "a INT, b ARRAY<INT>"
    assert str(from_iceberg(fields, schema)) == "a TINYINT, b ARRAY<SMALLINT>"


def test_a_column_that_another_client_widened_is_no_longer_small():
    declared = Schema((Column("a", Atomic("tinyint")),))
    widened = IcebergSchema(iceberg.NestedField(1, "a", iceberg.LongType(), required=False))
    assert str(from_iceberg(widened, declared)) == "a BIGINT"


@pytest.mark.parametrize(
    "kind", [iceberg.UUIDType(), iceberg.UnknownType(), iceberg.TimestampNanoType()], ids=str
)
def test_a_type_of_iceberg_that_spark_lacks_is_refused(kind):
    with pytest.raises(ForeignFormat):
        from_iceberg(IcebergSchema(iceberg.NestedField(1, "a", kind, required=False)))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Schema((Column("a", Atomic("int")),)), False),
        (Schema((Column("a", Struct((Column("b", Atomic("int")),))),)), False),
        (Schema((Column("a", Array(Atomic("int"))),)), True),
        (Schema((Column("a", Struct((Column("b", Map(Atomic("int"), Atomic("int"))),))),)), True),
    ],
    ids=str,
)
def test_lists_and_maps_are_found_wherever_they_are(schema, expected):
    assert has_collections(schema) is expected


@given(SCHEMAS)
def test_iceberg_takes_the_schema_for_a_new_table(schema):
    metadata = new_table_metadata(
        schema=to_iceberg(schema),
        partition_spec=UNPARTITIONED_PARTITION_SPEC,
        sort_order=UNSORTED_SORT_ORDER,
        location="file:///x",
        properties={"format-version": "2"},
    )
    assert from_iceberg(metadata.schema(), schema) == schema
