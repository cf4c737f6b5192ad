"""Schemas: values that can't be built wrong, and the form in which they are stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from pyspark.sql.types import StructType

from anabranch.errors import InvalidName, InvalidSchema, UnsupportedType
from anabranch.ledger.records import format_schema, parse_schema
from anabranch.schema import (
    ATOMIC_NAMES,
    MAX_COLUMNS,
    MAX_TYPE_DEPTH,
    Array,
    Atomic,
    Column,
    Decimal,
    Map,
    Schema,
    Struct,
    can_store,
)
from tests.unit.types_strategies import SCHEMAS, TYPES

INT, TEXT = Atomic("int"), Atomic("string")


@given(SCHEMAS)
def test_a_schema_survives_its_json_form(schema):
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    assert parse_schema(format_schema(schema)) == schema


@given(SCHEMAS)
def test_spark_reads_the_json_form_and_writes_the_same(schema):
    through_spark = StructType.fromJson(schema.to_json()).jsonValue()
    assert Schema.from_json(through_spark) == schema


@given(TYPES)
def test_every_type_can_be_stored_in_a_column_of_its_own(kind):
    assert can_store(kind, kind)


def test_a_schema_prints_as_ddl():
    schema = Schema(
        (
            Column("id", Atomic("bigint"), nullable=False),
            Column("price", Decimal(12, 2)),
            Column("tags", Array(TEXT)),
            Column("m", Map(TEXT, Array(INT))),
            Column("s", Struct((Column("a", INT, nullable=False), Column("b", Atomic("timestamp_ntz"))))),
        )
    )
    assert str(schema) == (
        "id BIGINT NOT NULL, price DECIMAL(12,2), tags ARRAY<STRING>, m MAP<STRING, ARRAY<INT>>, "
        "s STRUCT<a: INT NOT NULL, b: TIMESTAMP_NTZ>"
    )


def test_columns_are_found_whatever_their_case():
    schema = Schema((Column("Id", INT), Column("name", TEXT)))
    assert schema.find("ID") is schema.columns[0]
    assert schema.find("nope") is None
    assert schema.names == ("Id", "name")
    assert [column.name for column in schema] == ["Id", "name"]
    assert len(schema) == 2


# -- what can't be built --------------------------------------------------------------------------


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1), (-1, 0)])
def test_a_decimal_that_does_not_exist_is_refused(precision, scale):
    with pytest.raises(InvalidSchema, match="doesn't exist"):
        Decimal(precision, scale)


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (1, 1), (38, 0), (38, 38)])
def test_a_decimal_at_the_edge_exists(precision, scale):
    assert str(Decimal(precision, scale)) == f"DECIMAL({precision},{scale})"


@pytest.mark.parametrize("name", ["void", "interval", "variant", "char(5)", "Bigint", "", "integer"])
def test_an_unknown_type_is_refused(name):
    with pytest.raises(UnsupportedType):
        Atomic(name)


def test_a_table_and_a_struct_need_something_inside():
    with pytest.raises(InvalidSchema, match="at least one column"):
        Schema(())
    with pytest.raises(InvalidSchema, match="at least one field"):
        Struct(())


def test_names_that_differ_only_in_case_stand_twice():
    with pytest.raises(InvalidSchema, match="twice"):
        Schema((Column("a", INT), Column("A", INT)))
    with pytest.raises(InvalidSchema, match="twice"):
        Struct((Column("größe", INT), Column("GRÖßE", INT)))


@pytest.mark.parametrize(("one", "other"), [("i", "ı"), ("i", "İ"), ("s", "ſ"), ("k", "\u212a"), ("μ", "µ")])
def test_names_that_spark_takes_for_the_same_stand_twice(one, other):
    with pytest.raises(InvalidSchema, match="twice"):
        Schema((Column(one, INT), Column(other, INT)))


@pytest.mark.parametrize("name", ["_metadata", "_weight", "_change_type", "_WEIGHT"])
def test_a_table_has_no_column_that_would_hide_what_is_told_about_a_row(name):
    with pytest.raises(InvalidName):
        Schema((Column(name, INT),))
    assert Struct((Column(name, INT),))


def test_a_collated_column_of_spark_is_refused():
    field = {"name": "a", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": {"a": "x"}}}
    with pytest.raises(UnsupportedType):
        Schema.from_json({"fields": [field]})


def test_a_column_of_a_hostile_name_cannot_be_built():
    with pytest.raises(InvalidName):
        Column("a.b", INT)


def test_the_number_of_columns_has_a_limit():
    columns = tuple(Column(f"c{i}", INT) for i in range(MAX_COLUMNS + 1))
    assert len(Schema(columns[:-1])) == MAX_COLUMNS
    with pytest.raises(InvalidSchema, match=f"{MAX_COLUMNS} are allowed"):
        Schema(columns)


def _nested(depth: int) -> dict[str, object]:
    kind: object = "integer"
    for _ in range(depth):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    return {"fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}


def test_the_depth_of_a_type_has_a_limit():
    Schema.from_json(_nested(MAX_TYPE_DEPTH - 1))
    with pytest.raises(InvalidSchema, match="nested deeper"):
        Schema.from_json(_nested(MAX_TYPE_DEPTH))


@pytest.mark.parametrize(
    "kind",
    [
        "void",
        "variant",
        "interval",
        "interval year to month",
        "interval day to second",
        "char(5)",
        "varchar(5)",
        "string collate UTF8_LCASE",
        "time(3)",
        {"type": "udt", "class": "x"},
    ],
    ids=str,
)
def test_a_type_of_spark_without_a_place_in_iceberg_is_refused(kind):
    with pytest.raises(UnsupportedType) as caught:
        Schema.from_json({"fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]})
    assert caught.value.code == "AB106"


def test_a_negative_scale_of_spark_is_refused():
    field = {"name": "a", "type": "decimal(5,-2)", "nullable": True, "metadata": {}}
    with pytest.raises(InvalidSchema):
        Schema.from_json({"fields": [field]})


# -- store assignment -----------------------------------------------------------------------------

# Rows: the value's type. Columns: the column's. Spark's ANSI store assignment; tests/behaviour
# holds the same table against Spark itself.
STORE = """
               boolean tinyint smallint int bigint float double decimal(10,2) string binary date time timestamp timestamp_ntz
boolean        x       .       .        .   .      .     .      .             x      .      .    .    .         .
tinyint        .       x       x        x   x      x     x      x             x      .      .    .    .         .
smallint       .       x       x        x   x      x     x      x             x      .      .    .    .         .
int            .       x       x        x   x      x     x      x             x      .      .    .    .         .
bigint         .       x       x        x   x      x     x      x             x      .      .    .    .         .
float          .       x       x        x   x      x     x      x             x      .      .    .    .         .
double         .       x       x        x   x      x     x      x             x      .      .    .    .         .
decimal(10,2)  .       x       x        x   x      x     x      x             x      .      .    .    .         .
string         .       .       .        .   .      .     .      .             x      .      .    .    .         .
binary         .       .       .        .   .      .     .      .             .      x      .    .    .         .
date           .       .       .        .   .      .     .      .             x      .      x    .    x         x
time           .       .       .        .   .      .     .      .             x      .      .    x    .         .
timestamp      .       .       .        .   .      .     .      .             x      .      x    .    x         x
timestamp_ntz  .       .       .        .   .      .     .      .             x      .      x    .    x         x
"""  # noqa: E501


def store_table() -> list[tuple[str, str, bool]]:
    """(value type, column type, allowed) of the table above."""
    header, *lines = STORE.strip("\n").splitlines()
    targets = header.split()
    return [
        (source, target, mark == "x")
        for line in lines
        for source, *marks in [line.split()]
        for target, mark in zip(targets, marks, strict=True)
    ]


def _type(name: str) -> Atomic | Decimal:
    return Decimal(10, 2) if name.startswith("decimal") else Atomic(name)


def test_the_table_names_every_atomic_type():
    assert {source for source, _, _ in store_table()} == ATOMIC_NAMES | {"decimal(10,2)"}


@pytest.mark.parametrize(("source", "target", "allowed"), store_table())
def test_a_value_can_be_stored_where_ansi_lets_it(source, target, allowed):
    assert can_store(_type(source), _type(target)) is allowed


def _struct(**fields: Atomic) -> Struct:
    return Struct(tuple(Column(name, kind) for name, kind in fields.items()))


@pytest.mark.parametrize(
    ("value", "column", "allowed"),
    [
        (Array(INT), Array(Atomic("bigint")), True),
        (Array(TEXT), Array(INT), False),
        (Array(INT), INT, False),
        (INT, Array(INT), False),
        (Array(INT), TEXT, False),
        (Map(TEXT, INT), Map(TEXT, Atomic("double")), True),
        (Map(INT, INT), Map(TEXT, INT), True),
        (Map(TEXT, INT), Map(INT, INT), False),
        (Map(TEXT, TEXT), Map(TEXT, INT), False),
        (_struct(a=INT), _struct(A=Atomic("bigint")), True),
        (_struct(a=INT), _struct(b=INT), False),
        (_struct(a=INT, b=INT), _struct(a=INT), False),
        (_struct(a=INT), _struct(a=INT, b=INT), False),
        (_struct(a=INT, b=INT), _struct(b=INT, a=INT), False),
        (_struct(a=TEXT), _struct(a=INT), False),
        (Array(_struct(a=INT)), Array(_struct(a=Atomic("float"))), True),
        (Decimal(38, 0), Decimal(1, 0), True),
    ],
    ids=lambda value: str(value).replace(" ", ""),
)
def test_nested_values_are_stored_part_by_part(value, column, allowed):
    assert can_store(value, column) is allowed
