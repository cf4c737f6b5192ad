"""Hostile values and schemas: stored as what they are, or refused with a code; never half, never run."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from anabranch.errors import (
    AmbiguousRows,
    AnabranchError,
    InputError,
    InvalidSchema,
    InvalidValue,
    NullNotAllowed,
    UnsupportedType,
)
from tests.hostile.untouched import untouched

pytestmark = pytest.mark.rotating(2)

DDL = "id INT NOT NULL, v STRING, small TINYINT, price DECIMAL(5,2)"

TEXTS = [
    "'; DROP TABLE t; --",
    '"; DROP TABLE t; --',
    "`; DROP TABLE t; --",
    "{target} {source} {0} {{}}",
    "${env:HOME} %s %(x)s :name ?",
    "a\0b",
    "\ufeff\u202e😀",
    "../../etc/passwd",
    "\\",
    "\\u0041",
    "NULL",
    "",
    " ",
    "x" * 100_000,
]


def test_text_that_looks_like_sql_is_text_through_every_path(spark_lake):
    lake = spark_lake
    lake.create_table("t", "id INT, v STRING")
    lake.insert("t", list(enumerate(TEXTS)))
    lake.update("t", {"id": "id"})
    lake.merge("t", [{"id": i, "v": text} for i, text in enumerate(TEXTS)], on=["id", "v"])
    assert [row["v"] for row in lake.arrow("t").sort_by("id").to_pylist()] == TEXTS
    assert [row.v for row in lake.table("t").orderBy("id").collect()] == TEXTS


WRONG = {
    "wrong type": (InvalidValue, [{"id": 1, "v": 7}]),
    "wrong type deep in": (
        InvalidValue,
        [{"id": i, "small": 1} for i in range(1000)] + [{"id": 5, "small": "x"}],
    ),
    "overflow": (InvalidValue, [{"id": 2**31}]),
    "overflow of a small one": (InvalidValue, [{"id": 1, "small": 128}]),
    "overflow of a decimal": (InvalidValue, [{"id": 1, "price": 1000}]),
    "a fraction too fine": (InvalidValue, [{"id": 1, "price": 0.001}]),
    "NULL": (NullNotAllowed, [{"id": None}]),
    "a missing value": (NullNotAllowed, [{"v": "a"}]),
    "the last row": (NullNotAllowed, [{"id": 1}, {"id": None}]),
    "half an emoji": (InvalidValue, [{"id": 1, "v": "\ud83d"}]),
    "a class": (InvalidValue, [{"id": int}]),
    "a list for a number": (InvalidValue, [{"id": [1]}]),
    "not rows": (InputError, 7),
    "text": (InputError, "id"),
    "a dict": (InputError, {"id": 1}),
    "None": (InputError, None),
    "a row that is none": (InvalidValue, [None]),
    "rows of two kinds": (InvalidValue, [{"id": 1}, (1, "a", None, None)]),
}


@pytest.mark.parametrize(("kind", "rows"), WRONG.values(), ids=WRONG)
def test_a_wrong_row_is_refused_and_none_of_the_others_is_written(lake, place, kind, rows):
    lake.create_table("t", DDL)
    lake.create_table("other", "id INT")
    with untouched(place):
        with pytest.raises(kind):
            lake.insert("t", rows)
        transaction = lake.transaction()
        with pytest.raises(kind):
            transaction.insert("t", rows)
        transaction.rollback()
    assert lake.lsn == 2


def test_a_transaction_that_met_an_error_leaves_nothing_visible(lake):
    lake.create_table("t", DDL)
    lake.create_table("other", "id INT")

    def write() -> None:
        with lake.transaction() as tx:
            tx.insert("other", [(1,)])
            tx.insert("t", [{"id": None}])

    with pytest.raises(NullNotAllowed):
        write()
    assert (lake.lsn, lake.arrow("other").num_rows, lake.arrow("t").num_rows) == (2, 0, 0)


WRONG_IN_SPARK = {
    "overflow": (InvalidValue, lambda lake: lake.update("t", {"small": "small * 100"})),
    "NULL": (NullNotAllowed, lambda lake: lake.update("t", {"id": "nullif(id, 2)"})),
    "wrong type": (InvalidValue, lambda lake: lake.update("t", {"small": "v"})),
    "a bad cast": (InvalidValue, lambda lake: lake.delete("t", "CAST(v AS INT) = 1")),
    "an unknown column": (AnabranchError, lambda lake: lake.delete("t", "nope = 1")),
    "a frame with NULL": (
        NullNotAllowed,
        lambda lake: lake.insert("t", lake.sql("SELECT nullif(id, 2) AS id FROM t")),
    ),
    "a frame that overflows": (
        InvalidValue,
        lambda lake: lake.insert("t", lake.sql("SELECT id + 2147483646L AS id FROM t")),
    ),
    "an insert that overflows": (
        InvalidValue,
        lambda lake: lake.sql("INSERT INTO t (id, small) VALUES (1, 1), (2, 300)"),
    ),
    "a merge with NULL": (
        NullNotAllowed,
        lambda lake: lake.sql(
            "MERGE INTO t USING (SELECT 9 AS k) s ON t.id = s.k WHEN NOT MATCHED THEN INSERT (v) VALUES ('x')"
        ),
    ),
    "rows that claim one row": (
        AmbiguousRows,
        lambda lake: lake.merge("t", [{"id": 1}, {"id": 1}], on=["id"]),
    ),
    "a table of a wrong query": (
        AnabranchError,
        lambda lake: lake.sql("CREATE TABLE fresh AS SELECT 1 / (id - 1) AS x FROM t"),
    ),
}


@pytest.mark.parametrize(("kind", "act"), WRONG_IN_SPARK.values(), ids=WRONG_IN_SPARK)
def test_what_spark_finds_wrong_leaves_nothing_either(spark_lake, place, kind, act):
    lake = spark_lake
    lake.create_table("t", DDL)
    lake.insert("t", [(1, "a", 1, 1), (2, "b", 2, 2)])
    with untouched(place), pytest.raises(kind):
        act(lake)
    assert (lake.lsn, len(lake.tables())) == (2, 1)


SCHEMAS = {
    "nothing": "",
    "blank": " ",
    "a comma": ",",
    "a name": "id",
    "a comma at the end": "id INT,",
    "no comma": "id INT v INT",
    "a way out": "id INT) USING csv LOCATION '/etc'; DROP TABLE t; --",
    "a statement": "id INT; DROP TABLE t",
    "a default": "id INT DEFAULT 1",
    "a key": "id INT PRIMARY KEY",
    "generated": "id INT GENERATED ALWAYS AS (1)",
    "a reference": "id INT REFERENCES t (id)",
    "twice": "id INT, id INT",
    "twice in another case": "id INT, ID STRING",
    "an unknown type": "id NUMBER",
    "an open type": "id ARRAY<INT",
    "an empty struct": "id STRUCT<>",
    "a struct twice": "id STRUCT<a: INT, A: INT>",
    "an array of nothing": "id ARRAY<>",
    "a map of one": "id MAP<INT>",
    "a decimal of no digits": "id DECIMAL(0)",
    "a decimal of many digits": "id DECIMAL(99999999999999999999)",
    "deep": "id " + "ARRAY<" * 60 + "INT" + ">" * 60,
    "deeper": "id " + "ARRAY<" * 5000 + "INT" + ">" * 5000,
    "too many": ", ".join(f"c{i} INT" for i in range(2001)),
    "a megabyte": "id INT COMMENT '" + "x" * 1_000_000 + "'",
    "NUL": "id INT\0",
    "a reserved name": "_weight INT",
    "another reserved name": "_metadata STRUCT<file_path: STRING>",
    "a hidden name": "__weight BIGINT",
    "None": None,
    "a number": 7,
    "a list": [("id", "INT")],
    "a dict": {"id": "INT"},
    "an Arrow type": pa.int32(),
    "an Arrow table": pa.table({"id": [1]}),
    "no Arrow columns": pa.schema([]),
    "Arrow columns twice": pa.schema([("id", pa.int32()), ("ID", pa.int32())]),
    "no Spark columns": T.StructType([]),
    "a Spark field": T.StructField("id", T.IntegerType()),
    "a map with a NULL type": T.StructType([T.StructField("id", T.MapType(T.NullType(), T.IntegerType()))]),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_hostile_schema_is_refused(lake, place, schema):
    with untouched(place):
        for act in (
            lambda: lake.create_table("t", schema),
            lambda: lake.transaction().create_table("t", schema),
            lambda: lake.create_table("t", schema, if_not_exists=True),
        ):
            with pytest.raises(AnabranchError) as caught:
                act()
            assert isinstance(caught.value, InputError) or caught.value.code.startswith("AB2")
            assert len(str(caught.value)) < 2000
        if isinstance(schema, str):
            with pytest.raises(AnabranchError):
                lake.sql(f"CREATE TABLE t ({schema})")
    assert lake.tables() == []


def test_a_statement_that_failed_did_nothing_if_the_transaction_goes_on(spark_lake):
    lake = spark_lake
    lake.create_table("t", DDL)
    lake.insert("t", [(1, "a", 1, 1)])
    with lake.transaction() as tx:
        tx.drop_table("t")
        for text in (
            "CREATE TABLE t AS SELECT 1 / 0 AS x",
            "CREATE TABLE fresh AS SELECT raise_error('no') AS x",
        ):
            with pytest.raises(AnabranchError):
                tx.sql(text)
        tx.create_table("kept", "id INT")
    assert [info.name for info in lake.tables()] == ["kept"]


def test_the_codes_of_the_plain_cases_are_stable(lake):
    for schema, kind in (
        ("id INT, ID INT", InvalidSchema),
        ("id VARIANT", UnsupportedType),
        ("id", InvalidSchema),
    ):
        with pytest.raises(kind):
            lake.create_table("t", schema)


def test_a_time_beyond_the_year_9999_is_refused_with_an_error_of_ours(lake):
    lake.create_table("t", "d DATE")
    days = pa.array([4_000_000], pa.int32()).cast(pa.date32())
    lsn = lake.lsn
    with pytest.raises(InvalidValue, match="year"):
        lake.insert("t", pa.table({"d": days}))
    assert lake.lsn == lsn
    assert lake.arrow("t").num_rows == 0
