"""DDL text becomes the schema that Spark's own parser makes of it, or a typed error."""

from __future__ import annotations

import warnings

import pytest

from anabranch.errors import InvalidName, InvalidSchema, Notice, SqlTooLarge, UnsupportedType
from anabranch.schema import Array, Atomic, Column, Decimal, Map, Schema, Struct, Type
from anabranch.sql.ddl import parse_schema, render_type


def type_of(text: str) -> Type:
    (column,) = parse_schema(f"c {text}")
    return column.type


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT BYTE", "tinyint"),
        ("SMALLINT SHORT", "smallint"),
        ("INT INTEGER", "int"),
        ("BIGINT LONG", "bigint"),
        ("FLOAT REAL", "float"),
        ("DOUBLE", "double"),
        ("STRING", "string"),
        ("BINARY", "binary"),
        ("DATE", "date"),
        ("TIME TIME(6)", "time"),
        ("TIMESTAMP TIMESTAMP_LTZ", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
    ],
)
def test_every_spelling_of_a_type_is_its_type(words: str, name: str) -> None:
    for word in words.split():
        assert type_of(word) == type_of(word.lower()) == Atomic(name)


def test_a_timestamp_without_time_zone_is_not_an_instant() -> None:
    assert type_of("TIMESTAMP WITHOUT TIME ZONE") == Atomic("timestamp_ntz")
    assert type_of("TIME WITHOUT TIME ZONE") == Atomic("time")


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [
        ("DECIMAL", 10, 0),
        ("DEC", 10, 0),
        ("NUMERIC(5)", 5, 0),
        ("DECIMAL(12, 2)", 12, 2),
        ("dec(38,38)", 38, 38),
    ],
)
def test_a_decimal_without_sizes_has_ten_digits(text: str, precision: int, scale: int) -> None:
    assert type_of(text) == Decimal(precision, scale)


def test_types_nest() -> None:
    assert type_of("ARRAY<STRUCT<x: INT, y STRING NOT NULL>>") == Array(
        Struct((Column("x", Atomic("int")), Column("y", Atomic("string"), nullable=False)))
    )
    assert type_of("MAP<STRING, ARRAY<DECIMAL(10,2)>>") == Map(Atomic("string"), Array(Decimal(10, 2)))


def test_a_column_has_a_name_a_type_a_nullability_and_a_comment() -> None:
    assert parse_schema(
        "id BIGINT NOT NULL, `größe` INT NULL, n: STRING COMMENT 'it''s' \"!\" NOT NULL"
    ) == Schema(
        (
            Column("id", Atomic("bigint"), nullable=False),
            Column("größe", Atomic("int")),
            Column("n", Atomic("string"), nullable=False, comment="it's!"),
        )
    )


@pytest.mark.parametrize("word", ["order", "table", "primary", "check", "default", "comment", "unique"])
def test_words_of_sql_are_names_where_a_name_stands(word: str) -> None:
    assert parse_schema(f"{word} STRING, {word}_2: INT").names == (word, f"{word}_2")


def test_comments_of_sql_are_no_part_of_a_schema() -> None:
    assert parse_schema("a INT -- one\n, /* two */ b STRING").names == ("a", "b")


@pytest.mark.parametrize("text", ["VARCHAR(10)", "CHAR(3)", "CHARACTER(4)", "varchar"])
def test_text_with_a_length_is_kept_as_string_and_says_so(text: str) -> None:
    with pytest.warns(Notice, match="length is not checked"):
        assert type_of(text) == Atomic("string")


def test_a_plain_schema_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_schema("a STRING")


@pytest.mark.parametrize(
    "text",
    [
        "INTERVAL",
        "INTERVAL DAY TO SECOND",
        "VARIANT",
        "VOID",
        "GEOMETRY(4326)",
        "TIME(3)",
        "TIMESTAMP(9)",
        "INT(5)",
        "TEXT",
    ],
)
def test_types_that_a_table_has_no_place_for_are_named_with_a_hint(text: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        type_of(text)
    assert text.split("(", maxsplit=1)[0].split(maxsplit=1)[0] in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a INT PRIMARY KEY", "PRIMARY KEY"),
        ("a INT, PRIMARY KEY (a)", "PRIMARY KEY"),
        ("a INT DEFAULT 3", "DEFAULT"),
        ("a INT GENERATED ALWAYS AS (1)", "GENERATED"),
        ("a INT CHECK (a > 0)", "CHECK"),
        ("a INT, CONSTRAINT c CHECK (a > 0)", "CONSTRAINT"),
        ("a INT, UNIQUE (a)", "UNIQUE"),
        ("a INT REFERENCES b (c)", "REFERENCES"),
        ("a STRING COLLATE UNICODE", "COLLATE"),
        ("a FOO", "FOO"),
    ],
)
def test_what_a_schema_can_not_say_is_named(text: str, named: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        parse_schema(text)
    assert named in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        "a INT,",
        ", a INT",
        "a INT b INT",
        "a INT; DROP TABLE x",
        "a INT) (b INT",
        "a.b INT",
        "a-b INT",
        "a `INT`",
        "a 'INT'",
        "a ARRAY",
        "a ARRAY<>",
        "a ARRAY<INT",
        "a MAP<INT>",
        "a STRUCT<>",
        "a ARRAY<INT NOT NULL>",
        "a DECIMAL(39,0)",
        "a DECIMAL(5,6)",
        "a DECIMAL(5,-1)",
        "a DECIMAL()",
        "a DECIMAL(1,2,3)",
        "a DECIMAL(99999999999999999999)",
        "a INT COMMENT",
        "a INT COMMENT NULL",
        "a INT COMMENT '\\0'",
        "a INT COMMENT '\\U00FFFFFF'",
        "a INT, A STRING",
        "s STRUCT<a: INT, A: INT>",
        "a INT COMMENT 'x",
        "a\0 INT",
        "a INT {",
    ],
)
def test_what_is_no_schema_is_an_invalid_schema(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse_schema(text)


@pytest.mark.parametrize("text", ["__x INT", "1a INT", "`my col` INT", "s STRUCT<`a b`: INT>"])
def test_names_are_checked(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_schema(text)


def test_a_type_can_not_be_nested_without_end() -> None:
    with pytest.raises((InvalidSchema, SqlTooLarge)):
        type_of("ARRAY<" * 10_000 + "INT" + ">" * 10_000)


@pytest.mark.parametrize(
    "text",
    [
        "ARRAY<STRUCT<`order`: INT NOT NULL, `größe`: MAP<STRING, DECIMAL(3,1)>>>",
        "TIMESTAMP_NTZ",
        "DECIMAL(10,0)",
    ],
)
def test_a_type_is_rendered_as_it_reads(text: str) -> None:
    assert render_type(type_of(text)) == text
