"""Tables with every type: written in every way, and read by every reader, they hold the same rows."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal as Exact
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, IsNaN, IsNull
from pyspark.sql import types as T

import anabranch as ab
from anabranch.errors import (
    InvalidSchema,
    InvalidValue,
    NullNotAllowed,
    UnsupportedType,
)
from tests.behaviour.every_type import (
    ATOMS,
    COLUMNS,
    DDL,
    NESTED,
    UTC,
    by_spark,
    check_readings,
    listed,
    rows,
    shown,
)
from tests.unit.test_schema import store_table

ROWS = rows()
CHANGED = [{**row, "note": 1} for row in ROWS]


def as_arrow(given: list[dict[str, Any]], lake: ab.Lake) -> pa.Table:
    """The rows as an Arrow table in the table's own types."""
    return pa.Table.from_pylist(given, schema=lake.arrow("t").schema)


def as_pandas(given: list[dict[str, Any]], lake: ab.Lake) -> pd.DataFrame:
    """The rows as pandas holds them if told to hold them as Arrow does."""
    return as_arrow(given, lake).to_pandas(types_mapper=pd.ArrowDtype)


# -- the Arrow path -------------------------------------------------------------------------------

FORMS = {
    "dicts": lambda given, lake: given,
    "tuples": lambda given, lake: [tuple(row.values()) for row in given],
    "Arrow": as_arrow,
    "pandas": as_pandas,
}


@pytest.mark.rotating(2)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_type_survives_a_small_insert(spark_lake, place, form):
    spark_lake.create_table("t", DDL)
    spark_lake.insert("t", form(ROWS, spark_lake))
    check_readings(spark_lake, place, "t", ROWS)


def test_pandas_objects_are_taken_for_what_they_are(lake):
    names = [name for name in ATOMS if name not in ("short_float", "long_float")]
    lake.create_table("t", DDL)
    given = [{name: row[name] for name in ("id", "note", *names)} for row in ROWS]
    columns = {name: pd.Series([row[name] for row in given], dtype=object) for name in given[0]}
    lake.insert("t", pd.DataFrame(columns))
    assert listed(lake.arrow("t").select(list(given[0]))) == shown(given)


# -- through Spark --------------------------------------------------------------------------------


@pytest.fixture
def filled(spark_lake):
    """A lake whose table `t` holds a row per edge."""
    spark_lake.create_table("t", DDL)
    spark_lake.insert("t", ROWS)
    return spark_lake


def test_every_type_survives_the_insert_of_a_frame(filled, place):
    filled.create_table("copy", DDL)
    filled.insert("copy", filled.table("t"))
    check_readings(filled, place, "copy", ROWS)


def test_every_type_survives_create_table_as_select(filled, place):
    filled.sql("CREATE TABLE copy AS SELECT * FROM t")
    check_readings(filled, place, "copy", ROWS)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("rewrite_bytes", [0, 1 << 30], ids=["by Spark", "by the driver"])
def test_every_type_survives_the_rewriting_of_its_file(filled, place, rewrite_bytes):
    filled.set("driver_rewrite_bytes", rewrite_bytes)
    filled.update("t", {"note": "1"}, "id < 3")
    filled.update("t", {"note": "1"}, "id >= 3")
    check_readings(filled, place, "t", CHANGED)
    filled.compact("t")
    check_readings(filled, place, "t", CHANGED)
    assert [row._weight for row in filled.changes("t", 2).select("_weight").collect()].count(1) == len(ROWS)


def test_every_type_survives_a_merge_that_replaces_and_adds(filled, place):
    filled.delete("t", "id IN (0, 2, 4)")
    filled.merge("t", CHANGED, on=["id"])
    check_readings(filled, place, "t", CHANGED)


def test_every_type_that_can_be_a_key_is_one(filled):
    key = {name: values[0] for name, (_, values) in ATOMS.items()}
    merged = filled.merge("t", [{"id": 99, "note": 7, **key}], on=list(ATOMS))
    assert (merged.inserted, merged.deleted) == (1, 1)
    assert sorted(filled.arrow("t").column("id").to_pylist()) == [*range(1, len(ROWS)), 99]
    for name in NESTED:
        with pytest.raises(UnsupportedType):
            filled.merge("t", [{name: None}], on=[name])


def test_files_are_found_by_what_the_metadata_says_of_them(filled, place):
    """Bounds, null and NaN counts: another client that trusts them misses no row."""
    filled.truncate("t")
    for row in ROWS[:4]:
        filled.insert("t", [row])
    filled.insert("t", filled.sql("SELECT * FROM t WHERE FALSE").union(_frame_of(filled, ROWS[4:])))
    catalog = SqlCatalog("anabranch", uri=f"sqlite:///{place}/catalog.db")
    table = catalog.load_table("main.t")
    for name, (_, values) in ATOMS.items():
        for i, value in enumerate(values):
            if name == "short_float" and abs(value) == math.inf:
                continue  # pyiceberg holds no FLOAT to be equal to infinity
            if isinstance(value, float) and math.isnan(value):
                condition = IsNaN(name)
            elif isinstance(value, dt.date | dt.time):
                condition = EqualTo(name, value.isoformat())
            else:
                condition = EqualTo(name, value)
            found = table.scan(row_filter=condition, selected_fields=("id",)).to_arrow()
            assert i in found.column("id").to_pylist(), (name, value)
        nulls = table.scan(row_filter=IsNull(name), selected_fields=("id",)).to_arrow()
        assert sorted(nulls.column("id").to_pylist()) == list(range(len(values), len(ROWS))), name
    catalog.engine.dispose()


def _frame_of(lake: ab.Lake, given: list[dict[str, Any]]) -> Any:
    lake.create_table("more", DDL)
    lake.insert("more", given)
    return lake.table("more")


# -- schemas --------------------------------------------------------------------------------------

SPARK_SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType(), nullable=False, metadata={"comment": "who"}),
        T.StructField("tiny", T.ByteType()),
        T.StructField("small", T.ShortType()),
        T.StructField("price", T.DecimalType(12, 2)),
        T.StructField("at", T.TimestampType()),
        T.StructField("wall", T.TimestampNTZType()),
        T.StructField("clock", T.TimeType()),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("m", T.MapType(T.StringType(), T.ByteType())),
        T.StructField(
            "s",
            T.StructType([T.StructField("a", T.IntegerType(), False), T.StructField("b", T.BinaryType())]),
        ),
    ]
)
SAME_DDL = (
    "id BIGINT NOT NULL COMMENT 'who', tiny TINYINT, small SMALLINT, price DECIMAL(12,2), at TIMESTAMP, "
    "wall TIMESTAMP_NTZ, clock TIME, tags ARRAY<STRING>, m MAP<STRING, TINYINT>, "
    "s STRUCT<a: INT NOT NULL, b: BINARY>"
)
SAME_ARROW = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("tiny", pa.int8()),
        pa.field("small", pa.int16()),
        pa.field("price", pa.decimal128(12, 2)),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("wall", pa.timestamp("us")),
        pa.field("clock", pa.time64("us")),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("m", pa.map_(pa.string(), pa.int8())),
        pa.field("s", pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.binary())])),
    ]
)


def test_a_schema_is_the_same_as_ddl_as_struct_type_and_as_arrow(lake):
    for name, schema in (("ddl", SAME_DDL), ("spark", SPARK_SCHEMA), ("arrow", SAME_ARROW)):
        lake.create_table(name, schema)
    by_name = {info.name: info.schema for info in lake.tables()}
    assert by_name["ddl"] == by_name["spark"]
    assert str(by_name["arrow"]) == str(by_name["ddl"])
    assert by_name["ddl"].columns[0].comment == "who"
    lake.create_table("again", by_name["ddl"])
    assert lake.tables()[0].schema == by_name["ddl"]


def test_small_integers_come_back_as_small_integers(spark_lake):
    spark_lake.create_table("t", SPARK_SCHEMA)
    spark_lake.insert("t", [{"id": 1, "tiny": 1, "small": 2, "m": {"a": 3}, "s": {"a": 1}}])
    spark_lake.update("t", {"tiny": "tiny + 1Y"})
    with ab.connect(
        spark_lake._context.warehouse.uri.removesuffix("/tables"), spark=spark_lake._context.engine.session
    ) as again:
        arrow, frame = again.arrow("t"), again.table("t")
        assert [str(arrow.schema.field(name).type) for name in ("tiny", "small")] == ["int8", "int16"]
        assert str(arrow.schema.field("m").type) == "map<string, int8>"
        assert frame.schema["tiny"].dataType == T.ByteType()
        assert frame.schema["m"].dataType == T.MapType(T.StringType(), T.ByteType())
        assert arrow.column("tiny").to_pylist() == [2]
        with pytest.raises(InvalidValue):
            again.insert("t", [{"id": 2, "tiny": 128}])
        with pytest.raises(InvalidValue):
            again.update("t", {"tiny": "127 + 1"})
        assert again.arrow("t").column("tiny").to_pylist() == [2]


UNSUPPORTED_DDL = [
    "INTERVAL",
    "INTERVAL YEAR TO MONTH",
    "VARIANT",
    "VOID",
    "OBJECT",
    "ARRAY<VARIANT>",
    "MAP<STRING, INTERVAL DAY>",
    "STRUCT<a: VOID>",
    "TIME(3)",
    "STRING COLLATE UTF8_LCASE",
    "GEOMETRY(4326)",
]


@pytest.mark.parametrize("kind", UNSUPPORTED_DDL)
def test_a_type_that_a_table_cannot_hold_is_refused_in_ddl(lake, kind):
    with pytest.raises((UnsupportedType, InvalidSchema)) as caught:
        lake.create_table("t", f"a {kind}")
    assert caught.value.code in ("AB105", "AB106")
    assert (lake.lsn, lake.tables()) == (0, [])


@pytest.mark.parametrize("kind", ["DECIMAL(39,0)", "DECIMAL(5,6)", "DECIMAL(5,-2)", "DECIMAL(0,0)"])
def test_a_decimal_that_does_not_exist_is_refused_in_ddl(lake, kind):
    with pytest.raises(InvalidSchema):
        lake.create_table("t", f"a {kind}")
    assert lake.tables() == []


@pytest.mark.parametrize(
    "kind",
    [
        T.NullType(),
        T.VariantType(),
        T.DayTimeIntervalType(),
        T.YearMonthIntervalType(),
        T.CalendarIntervalType(),
        T.CharType(5),
        T.VarcharType(5),
        T.StringType("UTF8_LCASE"),
        T.ArrayType(T.VariantType()),
        T.TimeType(3),
    ],
    ids=lambda kind: kind.simpleString(),
)
def test_a_type_that_a_table_cannot_hold_is_refused_in_a_struct_type(lake, kind):
    with pytest.raises(UnsupportedType):
        lake.create_table("t", T.StructType([T.StructField("a", kind)]))
    assert lake.tables() == []


@pytest.mark.parametrize(
    "kind",
    [
        pa.null(),
        pa.duration("us"),
        pa.month_day_nano_interval(),
        pa.list_(pa.null()),
        pa.decimal256(39, 0),
        pa.decimal128(5, -2),
        pa.union([pa.field("a", pa.int8())], "dense"),
        pa.run_end_encoded(pa.int32(), pa.int8()),
    ],
    ids=str,
)
def test_a_type_that_a_table_cannot_hold_is_refused_in_an_arrow_schema(lake, kind):
    with pytest.raises((UnsupportedType, InvalidSchema)):
        lake.create_table("t", pa.schema([("a", kind)]))
    assert lake.tables() == []


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.uint8(), "SMALLINT"),
        (pa.uint16(), "INT"),
        (pa.uint32(), "BIGINT"),
        (pa.uint64(), "DECIMAL(20,0)"),
        (pa.float16(), "FLOAT"),
        (pa.large_string(), "STRING"),
        (pa.string_view(), "STRING"),
        (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.binary(16), "BINARY"),
        (pa.date64(), "DATE"),
        (pa.time32("s"), "TIME"),
        (pa.timestamp("ns", tz="Asia/Tokyo"), "TIMESTAMP"),
        (pa.timestamp("s"), "TIMESTAMP_NTZ"),
        (pa.large_list(pa.int8()), "ARRAY<TINYINT>"),
        (pa.list_(pa.int8(), 3), "ARRAY<TINYINT>"),
    ],
    ids=str,
)
def test_an_arrow_type_that_spark_lacks_becomes_the_next_wider_one(lake, arrow, spark):
    lake.create_table("t", pa.schema([("a", arrow)]))
    assert str(lake.tables()[0].schema) == f"a {spark}"


def test_a_query_with_a_type_that_a_table_cannot_hold_makes_no_table(spark_lake):
    for query in ("SELECT parse_json('{}') AS a", "SELECT NULL AS a", "SELECT INTERVAL 1 DAY AS a"):
        with pytest.raises(UnsupportedType):
            spark_lake.sql(f"CREATE TABLE t AS {query}")
    assert (spark_lake.lsn, spark_lake.tables()) == (0, [])


# -- NOT NULL, inside too -------------------------------------------------------------------------

STRICT = T.StructType(
    [
        T.StructField("id", T.IntegerType(), False),
        T.StructField("a", T.ArrayType(T.IntegerType(), containsNull=False)),
        T.StructField("m", T.MapType(T.StringType(), T.IntegerType(), valueContainsNull=False)),
        T.StructField("s", T.StructType([T.StructField("x", T.IntegerType(), False)])),
        T.StructField(
            "deep",
            T.ArrayType(T.StructType([T.StructField("x", T.IntegerType(), False)]), containsNull=False),
        ),
    ]
)
LOOSE = "id INT, a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT>, deep ARRAY<STRUCT<x: INT>>"
GOOD = [
    {"id": 1, "a": [1], "m": [("k", 1)], "s": {"x": 1}, "deep": [{"x": 1}]},
    {"id": 2, "a": [], "m": [], "s": None, "deep": []},
    {"id": 3, "a": None, "m": None, "s": None, "deep": None},
]
BAD = {
    "id": {"id": None},
    "a": {"id": 9, "a": [1, None]},
    "m": {"id": 9, "m": {"k": None}},
    "s.x": {"id": 9, "s": {"x": None}},
    "deep.element.x": {"id": 9, "deep": [{"x": 1}, {"x": None}]},
    "deep.element": {"id": 9, "deep": [None]},
}


@pytest.mark.rotating(2)
@pytest.mark.parametrize("rewrite_bytes", [0, 1 << 30], ids=["by Spark", "by the driver"])
def test_not_null_inside_a_value_is_kept_through_every_way_of_writing(spark_lake, place, rewrite_bytes):
    lake = spark_lake
    lake.set("driver_rewrite_bytes", rewrite_bytes)
    lake.create_table("t", STRICT)
    lake.insert("t", GOOD[:1])
    lake.insert("t", lake._context.engine.session.createDataFrame([_row(GOOD[1]), _row(GOOD[2])], LOOSE))
    lake.update("t", {"id": "id"})
    lake.merge("t", GOOD[1:], on=["id"])
    check_readings(lake, place, "t", GOOD)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("row", BAD.values(), ids=BAD)
def test_null_where_it_must_not_be_is_refused_through_every_way_of_writing(spark_lake, row):
    lake = spark_lake
    lake.create_table("t", STRICT)
    lake.insert("t", GOOD)
    frame = lake._context.engine.session.createDataFrame([_row(row)], LOOSE)
    for write in (
        lambda: lake.insert("t", [row]),
        lambda: lake.insert("t", frame),
        lambda: lake.merge("t", frame, on=["id"]),
    ):
        with pytest.raises(NullNotAllowed) as caught:
            write()
        assert caught.value.code == "AB108"
        assert "t." in caught.value.message
    assert listed(lake.arrow("t")) == shown(GOOD)


def test_an_update_cannot_make_a_not_null_column_null(spark_lake):
    spark_lake.create_table("t", STRICT)
    spark_lake.insert("t", GOOD)
    for assignments in ({"id": "NULL"}, {"a": "array(NULL)"}, {"s": "named_struct('x', CAST(NULL AS INT))"}):
        with pytest.raises(NullNotAllowed):
            spark_lake.update("t", assignments, "id = 1")
    spark_lake.update("t", {"id": "NULL"}, "id = 99")
    assert listed(spark_lake.arrow("t")) == shown(GOOD)


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    values = [row.get(name) for name in ("id", "a", "m", "s", "deep")]
    values[2] = dict(values[2]) if isinstance(values[2], list) else values[2]
    return tuple(values)


# -- time zones -----------------------------------------------------------------------------------

ZONE = "America/New_York"
WALLS = {
    "an ordinary day": (dt.datetime(2024, 7, 1, 12), dt.datetime(2024, 7, 1, 16, tzinfo=UTC)),  # noqa: DTZ001
    "in the gap": (dt.datetime(2024, 3, 10, 2, 30), dt.datetime(2024, 3, 10, 7, 30, tzinfo=UTC)),  # noqa: DTZ001
    "twice": (dt.datetime(2024, 11, 3, 1, 30), dt.datetime(2024, 11, 3, 5, 30, tzinfo=UTC)),  # noqa: DTZ001
    "before zones": (dt.datetime(1850, 1, 1), dt.datetime(1850, 1, 1, 4, 56, 2, tzinfo=UTC)),  # noqa: DTZ001
    "1960": (dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(1960, 1, 1, 5, 0, 0, 1, tzinfo=UTC)),  # noqa: DTZ001
}


@pytest.fixture
def new_york(place, spark):
    """A lake in another time zone, on a session of its own."""
    with ab.connect(place, spark=spark.newSession(), time_zone=ZONE) as lake:
        with pytest.warns(ab.Notice, match=r"spark\.sql\.session\.timeZone"):
            lake._context.engine.session  # noqa: B018
        yield lake


def test_a_time_without_a_zone_means_the_same_instant_whoever_writes_it(new_york):
    lake = new_york
    lake.create_table("t", "how STRING, i INT, at TIMESTAMP, wall TIMESTAMP_NTZ")
    for i, (wall, _) in enumerate(WALLS.values()):
        lake.insert("t", [("python", i, wall, wall)])
        lake.insert("t", pa.table({"how": ["arrow"], "i": [i], "at": [wall], "wall": [wall]}))
        literal = f"TIMESTAMP_NTZ '{wall.isoformat(sep=' ')}'"
        lake.sql(f"INSERT INTO t SELECT 'sql', {i}, {literal}, {literal}")
        lake.sql(f"INSERT INTO t VALUES ('text', {i}, TIMESTAMP '{wall.isoformat(sep=' ')}', {literal})")
    frame = pd.DataFrame([("pandas", i, wall, wall) for i, (wall, _) in enumerate(WALLS.values())])
    lake.insert("t", frame.set_axis(["how", "i", "at", "wall"], axis=1))
    expected = dict(enumerate(WALLS.values()))
    for table in (lake.arrow("t"), by_spark(lake.table("t"))):
        found = table.to_pylist()
        assert len(found) == 5 * len(WALLS)
        for row in found:
            assert (row["wall"], row["at"].astimezone(UTC)) == expected[row["i"]], row


def test_an_instant_is_read_in_the_lakes_zone(new_york):
    lake = new_york
    lake.create_table("t", "at TIMESTAMP")
    lake.insert("t", [(dt.datetime(2024, 7, 1, 16, tzinfo=UTC),)])
    shown_as = lake.sql("SELECT CAST(at AS STRING) AS text, hour(at) AS hour FROM t").collect()[0]
    assert (shown_as.text, shown_as.hour) == ("2024-07-01 12:00:00", 12)
    lake.update("t", {"at": "at + INTERVAL 1 HOUR"}, "hour(at) = 12")
    assert lake.arrow("t").to_pylist()[0]["at"] == dt.datetime(2024, 7, 1, 17, tzinfo=UTC)


def test_a_new_time_zone_counts_from_the_next_opening_on_for_both_paths(new_york, place):
    new_york.create_table("t", "at TIMESTAMP")
    new_york.set("time_zone", "Asia/Tokyo")
    new_york.insert("t", [(WALLS["an ordinary day"][0],)])
    assert new_york.arrow("t").to_pylist()[0]["at"] == WALLS["an ordinary day"][1]
    with ab.connect(place) as lake:
        lake.insert("t", [(WALLS["an ordinary day"][0],)])
        assert [row["at"].hour for row in lake.arrow("t").to_pylist()].count(3) == 1


# -- what may be stored where ---------------------------------------------------------------------


def test_a_value_can_be_stored_where_spark_lets_it(spark, tmp_path):
    """The table of `can_store`, asked of Spark's own INSERT."""
    pairs = store_table()
    targets = sorted({target for _, target, _ in pairs})
    names = {target: f"c{i}" for i, target in enumerate(targets)}
    columns = ", ".join(f"{names[target]} {target}" for target in targets)
    spark.sql(f"CREATE TABLE store_assignment ({columns}) USING parquet LOCATION '{tmp_path}/store'")
    differ = set()
    try:
        for source, target, allowed in pairs:
            plan = spark.sql(
                f"EXPLAIN INSERT INTO store_assignment ({names[target]}) SELECT CAST(NULL AS {source})"
            ).collect()[0][0]
            if plan.startswith("Error occurred") is allowed:
                differ.add((source, target))
    finally:
        spark.sql("DROP TABLE store_assignment")
    # Spark takes any bytes for text, which other readers can't read, and adds today's date to a time.
    assert differ == {
        ("binary", "string"),
        ("time", "timestamp"),
        ("time", "timestamp_ntz"),
        ("timestamp", "time"),
        ("timestamp_ntz", "time"),
    }


def test_today_is_never_added_to_a_time(spark_lake):
    spark_lake.create_table("t", "at TIMESTAMP, clock TIME")
    for query in ("SELECT TIME '12:00:00' AS at", "SELECT TIMESTAMP '2024-02-29 12:00:00' AS clock"):
        with pytest.raises(InvalidValue):
            spark_lake.insert("t", spark_lake._context.engine.session.sql(query))
    assert spark_lake.arrow("t").num_rows == 0


def test_bytes_are_never_taken_for_text(spark_lake):
    lake = spark_lake
    lake.create_table("t", "id INT, s STRING, a ARRAY<STRING>")
    lake.insert("t", [(1, "a", [])])
    session = lake._context.engine.session
    for write in (
        lambda: lake.insert("t", session.sql("SELECT 2 AS id, X'61' AS s")),
        lambda: lake.insert("t", session.sql("SELECT 2 AS id, array(X'61') AS a")),
        lambda: lake.update("t", {"s": "X'61'"}),
        lambda: lake.update("t", {"s": "CAST(X'FF' AS STRING)"}),
        lambda: lake.sql("INSERT INTO t SELECT 2, CAST(X'FF' AS STRING), NULL"),
    ):
        with pytest.raises(InvalidValue):
            write()
    assert lake.arrow("t").to_pylist() == [{"id": 1, "s": "a", "a": []}]


def test_a_field_that_a_struct_does_not_have_is_never_dropped_in_silence(spark_lake):
    lake = spark_lake
    lake.create_table("t", "id INT, p STRUCT<x: INT>")
    lake.insert("t", [(1, {"x": 1})])
    more = "named_struct('x', 2, 'lost', 3)"
    for write in (
        lambda: lake.update("t", {"p": more}),
        lambda: lake.sql(f"INSERT INTO t SELECT 2, {more}"),
        lambda: lake.sql(
            f"MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET p = {more}"
        ),
        lambda: lake.merge("t", lake._context.engine.session.sql(f"SELECT 1 AS id, {more} AS p"), on=["id"]),
    ):
        with pytest.raises(InvalidValue):
            write()
    assert lake.arrow("t").to_pylist() == [{"id": 1, "p": {"x": 1}}]


def test_spark_refuses_a_frame_of_another_type_and_takes_one_that_fits(spark_lake):
    lake = spark_lake
    lake.create_table("t", "id INT, d DECIMAL(5,2), s STRING")
    session = lake._context.engine.session
    lake.insert("t", session.sql("SELECT 7L AS id, 1.5D AS d, 'a' AS s"))
    lake.insert("t", session.sql("SELECT 'b' AS S, 8 AS ID"))
    for query in ("SELECT '7' AS id", "SELECT 3000000000 AS id", "SELECT 12345 AS d", "SELECT array(1) AS s"):
        with pytest.raises(InvalidValue):
            lake.insert("t", session.sql(query))
    assert listed(lake.arrow("t")) == [
        {"id": 7, "d": Exact("1.50"), "s": "a"},
        {"id": 8, "d": None, "s": "b"},
    ]
    assert len(COLUMNS) == len(ATOMS) + len(NESTED)
