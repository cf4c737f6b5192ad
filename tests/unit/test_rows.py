"""Rows as people hand them over: every kind of input, and each refusal."""

from __future__ import annotations

import datetime as dt
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal as Exact
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from anabranch.errors import (
    AnabranchError,
    InputError,
    InvalidSchema,
    InvalidValue,
    NullNotAllowed,
    UnknownColumn,
    UnsupportedType,
)
from anabranch.iceberg.input_rows import input_column_names, rows_to_arrow
from anabranch.schema import Array, Atomic, Column, Decimal, Map, Schema, Struct, Type

BIGINT, TEXT = Atomic("bigint"), Atomic("string")
PAIR = Schema((Column("id", BIGINT), Column("Name", TEXT)))
UTC = dt.UTC
VIENNA = ZoneInfo("Europe/Vienna")


def read(rows: Any, schema: Schema = PAIR, zone: str = "UTC", *, incoming: bool = False) -> pa.Table:
    return rows_to_arrow(rows, schema, zone=zone, table="t", incoming=incoming)


def stored(value: Any, kind: Type, zone: str = "UTC") -> Any:
    """What one Python value becomes in a column of a type."""
    return read([(value,)], Schema((Column("c", kind),)), zone).to_pylist()[0]["c"]


def cast(values: Any, kind: Type, zone: str = "UTC", arrow: pa.DataType | None = None) -> list[Any]:
    """What an Arrow column becomes in a column of a type."""
    table = pa.table({"c": pa.array(values, arrow)})
    return read(table, Schema((Column("c", kind),)), zone).column("c").to_pylist()


# -- kinds of input -------------------------------------------------------------------------------

Named = namedtuple("Named", "id Name")
ROWS = [{"id": 1, "Name": "a"}, {"id": 2, "Name": None}]
ARROW = pa.table({"id": [1, 2], "Name": ["a", None]})


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(ROWS, id="dicts"),
        pytest.param(tuple(ROWS), id="a tuple of dicts"),
        pytest.param([OrderedDict(row) for row in ROWS], id="mappings"),
        pytest.param([{"NAME": "a", "ID": 1}, {"id": 2}], id="dicts in another order and case"),
        pytest.param([(1, "a"), (2, None)], id="tuples"),
        pytest.param([[1, "a"], [2, None]], id="lists"),
        pytest.param([Named(1, "a"), Named(2, None)], id="named tuples"),
        pytest.param((row for row in ROWS), id="a generator of dicts"),
        pytest.param(iter([(1, "a"), (2, None)]), id="an iterator of tuples"),
        pytest.param(ARROW, id="an Arrow table"),
        pytest.param(ARROW.select(["Name", "id"]), id="an Arrow table in another order"),
        pytest.param(ARROW.rename_columns(["ID", "name"]), id="an Arrow table in another case"),
        pytest.param(ARROW.to_batches()[0], id="an Arrow batch"),
        pytest.param(ARROW.to_reader(), id="an Arrow reader"),
        pytest.param(pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]), id="an Arrow table in chunks"),
        pytest.param(pd.DataFrame(ROWS), id="pandas"),
        pytest.param(pd.DataFrame(ROWS, index=[7, 9]), id="pandas with an index"),
    ],
)
def test_every_kind_of_input_gives_the_same_rows(rows):
    table = read(rows)
    assert table.to_pylist() == [{"id": 1, "Name": "a"}, {"id": 2, "Name": None}]
    assert table.schema == pa.schema([("id", pa.int64()), ("Name", pa.string())])


@pytest.mark.parametrize("rows", [[], (), iter(()), ARROW.slice(0, 0), pd.DataFrame({"id": [], "Name": []})])
def test_no_rows_are_rows_too(rows):
    if isinstance(rows, pd.DataFrame):
        rows = rows.astype({"id": "int64", "Name": "object"})
    assert read(rows).num_rows == 0


def test_a_missing_column_is_null():
    assert read([{"id": 1}, {"Name": "b"}]).to_pylist() == [
        {"id": 1, "Name": None},
        {"id": None, "Name": "b"},
    ]
    assert read(pa.table({"Name": ["b"]})).to_pylist() == [{"id": None, "Name": "b"}]
    assert read([{}]).to_pylist() == [{"id": None, "Name": None}]


@pytest.mark.parametrize(
    "rows",
    [None, 7, "id", b"id", {"id": 1}, object()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_collection_of_rows_is_refused(rows):
    with pytest.raises(InputError, match="must be a list of dicts or tuples"):
        read(rows)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([1], InvalidValue),
        (["ab"], InvalidValue),
        ([None], InvalidValue),
        ([{"id": 1}, (2, "b")], InvalidValue),
        ([(2, "b"), {"id": 1}], InvalidValue),
        ([(1,)], InvalidValue),
        ([(1, "a", 2)], InvalidValue),
        ([{"id": 1, "nope": 2}], UnknownColumn),
        ([{"id": 1, "ID": 2}], InvalidValue),
        ([{"id": 1}, {"ID": 2}, {"Id": 3, "iD": 3}], InvalidValue),
        ([{1: 2}], UnknownColumn),
        (pa.table({"nope": [1]}), UnknownColumn),
        (pd.DataFrame({"nope": [1]}), UnknownColumn),
        (pa.table([[1], [2]], names=["id", "ID"]), InputError),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), InputError),
        (pd.DataFrame({"id": [1, "a"]}), InvalidValue),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("id", 1), ("id", 2)])), UnknownColumn),
        (pd.Series([1, 2]), InvalidValue),
        (np.array([[1, 2]]), InvalidValue),
        ({1, 2}, InvalidValue),
    ],
    ids=str,
)
def test_a_row_that_does_not_fit_the_table_is_refused(rows, kind):
    with pytest.raises(kind) as caught:
        read(rows)
    assert '"t' in caught.value.message or "DataFrame" in caught.value.message


def test_an_error_names_the_row_and_the_column():
    with pytest.raises(InvalidValue) as caught:
        read([{"id": 1}, {"id": 2}, {"id": "three"}])
    assert caught.value.message == 'a value doesn\'t fit "t.id" BIGINT'
    assert caught.value.detail is not None
    assert "row 3" in caught.value.detail
    assert "three" in caught.value.detail


def test_an_error_shows_a_huge_value_only_in_part():
    with pytest.raises(InvalidValue) as caught:
        read([{"id": "x" * 100_000}])
    assert len(str(caught.value)) < 1000


# -- values of every type -------------------------------------------------------------------------

NOON = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("boolean", True, True),
        ("tinyint", -128, -128),
        ("tinyint", 127, 127),
        ("smallint", -32768, -32768),
        ("int", 2**31 - 1, 2**31 - 1),
        ("bigint", -(2**63), -(2**63)),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("bigint", 3.0, 3),
        ("bigint", Exact("3.00"), 3),
        ("bigint", np.int64(3), 3),
        ("bigint", np.float64(3), 3),
        ("float", 1.5, 1.5),
        ("float", 1, 1.0),
        ("float", math.inf, math.inf),
        ("double", -math.inf, -math.inf),
        ("double", Exact("0.1"), 0.1),
        ("double", Fraction(1, 2), 0.5),
        ("double", 1e308, 1e308),
        ("double", np.float32(0.5), 0.5),
        ("string", "", ""),
        ("string", "a\0b", "a\0b"),
        ("string", "ß😀\u0301", "ß😀\u0301"),
        ("binary", b"", b""),
        ("binary", b"\xff\x00", b"\xff\x00"),
        ("date", dt.date(1, 1, 1), dt.date(1, 1, 1)),
        ("date", dt.date(9999, 12, 31), dt.date(9999, 12, 31)),
        ("time", dt.time(23, 59, 59, 999999), dt.time(23, 59, 59, 999999)),
        ("timestamp", NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
        ("timestamp", NOON.replace(tzinfo=VIENNA), NOON.replace(hour=11, tzinfo=UTC)),
        ("timestamp", NOON, NOON.replace(tzinfo=UTC)),
        ("timestamp_ntz", NOON, NOON),
        ("timestamp_ntz", dt.datetime(1, 1, 1), dt.datetime(1, 1, 1)),  # noqa: DTZ001
    ],
)
def test_a_value_of_its_type_is_stored_as_it_is(kind, given, expected):
    found = stored(given, Atomic(kind))
    assert found == expected
    assert type(found) is type(expected)


def test_not_a_number_and_negative_zero_stay_what_they_are():
    assert math.isnan(stored(math.nan, Atomic("double")))
    assert math.copysign(1, stored(-0.0, Atomic("double"))) == -1


@pytest.mark.parametrize("kind", sorted(["boolean", "bigint", "double", "string", "binary", "date", "time"]))
def test_null_has_every_type(kind):
    assert stored(None, Atomic(kind)) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", 1),
        ("boolean", "true"),
        ("tinyint", 128),
        ("tinyint", -129),
        ("smallint", 32768),
        ("int", 2**31),
        ("bigint", 2**63),
        ("bigint", 1.5),
        ("bigint", Exact("1.5")),
        ("bigint", math.nan),
        ("bigint", math.inf),
        ("bigint", Exact("NaN")),
        ("bigint", Exact("sNaN")),
        ("bigint", Exact("Infinity")),
        ("bigint", True),
        ("bigint", "1"),
        ("bigint", b"1"),
        ("bigint", [1]),
        ("float", 1e39),
        ("float", -1e39),
        ("float", "1.5"),
        ("double", True),
        ("double", b"1"),
        ("double", 10**400),
        ("double", 1j),
        ("string", 1),
        ("string", b"a"),
        ("string", "\ud800"),
        ("string", ["a"]),
        ("binary", "a"),
        ("binary", 1),
        ("date", NOON),
        ("date", "2024-02-29"),
        ("date", 19_000),
        ("time", NOON),
        ("time", "12:00"),
        ("time", dt.time(12, tzinfo=UTC)),
        ("timestamp", dt.date(2024, 2, 29)),
        ("timestamp", "2024-02-29 12:00:00"),
        ("timestamp", 0),
        ("timestamp_ntz", NOON.replace(tzinfo=UTC)),
        ("timestamp_ntz", dt.date(2024, 2, 29)),
    ],
    ids=ascii,
)
def test_a_value_of_another_type_or_out_of_range_is_refused(kind, value):
    with pytest.raises(InvalidValue) as caught:
        stored(value, Atomic(kind))
    assert caught.value.code == "AB107"
    assert "t.c" in caught.value.message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Exact("9999999999.99"), Exact("9999999999.99")),
        (Exact("-9999999999.99"), Exact("-9999999999.99")),
        (9.99, Exact("9.99")),
        (0.1, Exact("0.10")),
        (7, Exact("7.00")),
        (np.int64(7), Exact("7.00")),
        (np.float64(0.1), Exact("0.10")),
        (Exact("1E+2"), Exact("100.00")),
        (Exact("1.10000"), Exact("1.10")),
    ],
)
def test_a_decimal_is_exact(given, expected):
    assert stored(given, Decimal(12, 2)) == expected


@pytest.mark.parametrize(
    "value",
    [
        Exact("10000000000"),
        Exact("0.001"),
        0.001,
        10**10,
        Exact("NaN"),
        Exact("Infinity"),
        math.nan,
        math.inf,
        True,
        "1.5",
        b"1",
    ],
    ids=repr,
)
def test_a_decimal_that_does_not_fit_is_refused(value):
    with pytest.raises(InvalidValue):
        stored(value, Decimal(12, 2))


@pytest.mark.parametrize("precision", range(1, 39))
def test_decimals_of_every_length_are_stored_to_the_last_digit(precision):
    for scale in {0, precision // 2, precision}:
        largest = Exact((0, (9,) * precision, -scale))
        assert stored(largest, Decimal(precision, scale)) == largest
        assert stored(largest.copy_negate(), Decimal(precision, scale)) == largest.copy_negate()


# -- nested values --------------------------------------------------------------------------------

POINT = Struct((Column("x", Atomic("int"), nullable=False), Column("Y", Atomic("int"))))


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (Array(BIGINT), [], []),
        (Array(BIGINT), [1, None], [1, None]),
        (Array(BIGINT), (1, 2), [1, 2]),
        (Array(BIGINT), np.array([1, 2]), [1, 2]),
        (Array(Array(TEXT)), [[], ["a"], None], [[], ["a"], None]),
        (Map(TEXT, BIGINT), {}, []),
        (Map(TEXT, BIGINT), {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        (Map(TEXT, BIGINT), [("a", 1)], [("a", 1)]),
        (POINT, {"x": 1, "Y": 2}, {"x": 1, "Y": 2}),
        (POINT, {"X": 1}, {"x": 1, "Y": None}),
        (POINT, (1, None), {"x": 1, "Y": None}),
        (Map(TEXT, Array(POINT)), {"a": [{"x": 1}]}, [("a", [{"x": 1, "Y": None}])]),
    ],
    ids=str,
)
def test_nested_values_are_stored_part_by_part(kind, given, expected):
    assert stored(given, kind) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Array(BIGINT), "ab"),
        (Array(BIGINT), b"ab"),
        (Array(BIGINT), {"a": 1}),
        (Array(BIGINT), 1),
        (Array(BIGINT), ["1"]),
        (Array(Atomic("tinyint")), [128]),
        (Map(TEXT, BIGINT), "ab"),
        (Map(TEXT, BIGINT), 1),
        (Map(TEXT, BIGINT), {1: 1}),
        (Map(TEXT, BIGINT), {None: 1}),
        (Map(TEXT, BIGINT), {"a": "1"}),
        (POINT, {"x": 1, "z": 2}),
        (POINT, {1: 2}),
        (POINT, (1,)),
        (POINT, (1, 2, 3)),
        (POINT, "ab"),
        (POINT, {"x": "1"}),
        (POINT, {"x": 1, "X": 2}),
    ],
    ids=str,
)
def test_a_nested_value_that_does_not_fit_is_refused(kind, value):
    with pytest.raises(InvalidValue):
        stored(value, kind)


# -- NOT NULL -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (BIGINT, None, "c"),
        (Array(BIGINT, nullable=False), [1, None], "c.element"),
        (Array(Array(BIGINT, nullable=False)), [[1], [None]], "c.element.element"),
        (Map(TEXT, BIGINT, nullable=False), {"a": None}, "c.value"),
        (POINT, {"Y": 1}, "c.x"),
        (Array(POINT), [{"x": 1}, {"Y": 1}], "c.element.x"),
        (Map(TEXT, POINT), {"a": {"x": 1}, "b": {"x": None}}, "c.value.x"),
        (Struct((Column("p", POINT),)), {"p": {"Y": 1}}, "c.p.x"),
    ],
    ids=str,
)
def test_null_in_a_place_that_is_not_null_is_refused_with_its_path(kind, value, path):
    schema = Schema((Column("c", kind, nullable=kind != BIGINT),))
    for rows in ([(value,)], [{"c": value}]):
        with pytest.raises(NullNotAllowed) as caught:
            read(rows, schema)
        assert caught.value.code == "AB108"
        assert f'"t.{path}"' in caught.value.message
    arrow = read([(value,)], schema, incoming=True)
    for table in (arrow, pa.concat_tables([arrow, arrow]).slice(1)):
        with pytest.raises(NullNotAllowed):
            read(table, schema)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Array(BIGINT, nullable=False), None),
        (Array(BIGINT, nullable=False), []),
        (Map(TEXT, BIGINT, nullable=False), None),
        (POINT, None),
        (Array(POINT), [None, {"x": 1}]),
        (Map(TEXT, POINT), {"a": None}),
        (Struct((Column("p", POINT),)), {"p": None}),
    ],
    ids=str,
)
def test_what_is_absent_as_a_whole_lacks_no_parts(kind, value):
    schema = Schema((Column("c", kind),))
    table = read([(value,), (value,)], schema)
    assert read(table.slice(1), schema).num_rows == 1


def test_a_missing_not_null_column_is_refused():
    schema = Schema((Column("id", BIGINT, nullable=False), Column("v", BIGINT)))
    with pytest.raises(NullNotAllowed, match=r"t\.id"):
        read([{"v": 1}], schema)
    with pytest.raises(NullNotAllowed, match="row 2"):
        read([{"id": 1}, {"v": 1}], schema)
    with pytest.raises(NullNotAllowed):
        read(pa.table({"v": [1]}), schema)
    assert read([], schema).num_rows == 0


def test_rows_for_a_merge_may_have_nulls_and_columns_of_their_own():
    schema = Schema((Column("id", BIGINT, nullable=False),))
    for rows in (
        [{"id": None, "gone": True}, {"id": 1, "gone": False}],
        pa.table({"id": pa.array([None, 1]), "gone": [True, False]}),
        pd.DataFrame({"id": pd.array([None, 1], dtype="Int64"), "gone": [True, False]}),
    ):
        assert read(rows, schema, incoming=True).to_pylist() == [
            {"id": None, "gone": True},
            {"id": 1, "gone": False},
        ]


def test_a_column_of_their_own_needs_one_type():
    schema = Schema((Column("id", BIGINT),))
    with pytest.raises(InvalidValue, match="common type"):
        read([{"id": 1, "x": 1}, {"id": 2, "x": "b"}], schema, incoming=True)
    with pytest.raises(UnknownColumn):
        read([{"id": 1, 5: 1}], schema, incoming=True)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([{"ID": 1}, {"name": "a", "x": 1}], ("id", "Name", "x")),
        ([(1, "a")], ("id", "Name")),
        ([], ("id", "Name")),
        (pa.table({"NAME": ["a"], "y": [1]}), ("Name", "y")),
        (pa.table({"NAME": ["a"]}).to_batches()[0], ("Name",)),
        (pd.DataFrame({"column_names": [1], "schema": [2]}), ("column_names", "schema")),
    ],
    ids=str,
)
def test_the_columns_that_rows_have_are_known(rows, names):
    assert input_column_names(rows, PAIR) == names


# -- Arrow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrow", "values", "kind", "expected"),
    [
        (pa.int8(), [1], "bigint", [1]),
        (pa.uint64(), [2**63 - 1], "bigint", [2**63 - 1]),
        (pa.int64(), [127], "tinyint", [127]),
        (pa.float64(), [3.0], "bigint", [3]),
        (pa.float64(), [0.5, math.inf], "float", [0.5, math.inf]),
        (pa.float16(), [np.float16(0.5)], "double", [0.5]),
        (pa.int64(), [3], "double", [3.0]),
        (pa.decimal128(5, 2), [Exact("3.00")], "bigint", [3]),
        (pa.large_string(), ["a"], "string", ["a"]),
        (pa.string_view(), ["a"], "string", ["a"]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None], "string", ["a", None]),
        (pa.large_binary(), [b"a"], "binary", [b"a"]),
        (pa.binary(2), [b"ab"], "binary", [b"ab"]),
        (pa.date64(), [dt.date(2024, 2, 29)], "date", [dt.date(2024, 2, 29)]),
        (pa.timestamp("ns"), [dt.datetime(2024, 2, 29)], "date", [dt.date(2024, 2, 29)]),  # noqa: DTZ001
        (pa.time32("s"), [dt.time(1, 2, 3)], "time", [dt.time(1, 2, 3)]),
        (pa.timestamp("ns"), [NOON], "timestamp_ntz", [NOON]),
        (pa.timestamp("s", tz="Asia/Tokyo"), [NOON.replace(microsecond=0, tzinfo=UTC)], "timestamp",
         [NOON.replace(microsecond=0, tzinfo=UTC)]),
        (pa.null(), [None, None], "string", [None, None]),
    ],
    ids=str,
)  # fmt: skip
def test_an_arrow_column_is_taken_in_another_form_of_its_type(arrow, values, kind, expected):
    assert cast(values, Atomic(kind), arrow=arrow) == expected


@pytest.mark.parametrize(
    ("arrow", "values", "kind"),
    [
        (pa.int64(), [128], "tinyint"),
        (pa.uint64(), [2**63], "bigint"),
        (pa.float64(), [1.5], "bigint"),
        (pa.float64(), [math.nan], "bigint"),
        (pa.float64(), [1e39], "float"),
        (pa.int64(), [1], "boolean"),
        (pa.bool_(), [True], "bigint"),
        (pa.string(), ["1"], "bigint"),
        (pa.int64(), [1], "string"),
        (pa.float64(), [1.0], "string"),
        (pa.binary(), [b"a"], "string"),
        (pa.string(), ["a"], "binary"),
        (pa.string(), ["2024-02-29"], "date"),
        (pa.timestamp("us"), [NOON], "string"),
        (pa.timestamp("us"), [NOON], "date"),
        (pa.timestamp("ns"), [1], "timestamp_ntz"),
        (pa.timestamp("ns"), [1], "timestamp"),
        (pa.timestamp("ns", tz="UTC"), [1], "timestamp"),
        (pa.time64("ns"), [1], "time"),
        (pa.list_(pa.int64()), [[1]], "bigint"),
        (pa.list_(pa.int64()), [[1]], "string"),
    ],
    ids=str,
)
def test_an_arrow_column_that_would_lose_something_is_refused(arrow, values, kind):
    with pytest.raises(InvalidValue) as caught:
        cast(values, Atomic(kind), arrow=arrow)
    assert "t.c" in caught.value.message


@pytest.mark.parametrize(
    ("arrow", "kind"),
    [
        (pa.duration("us"), UnsupportedType),
        (pa.month_day_nano_interval(), UnsupportedType),
        (pa.list_(pa.duration("s")), UnsupportedType),
        (pa.decimal256(39, 2), InvalidSchema),
        (pa.decimal128(5, -2), InvalidSchema),
    ],
    ids=str,
)
def test_an_arrow_type_without_a_counterpart_is_refused(arrow, kind):
    with pytest.raises(kind):
        cast([None], BIGINT, arrow=arrow)


@pytest.mark.parametrize(
    ("arrow", "value", "kind", "expected"),
    [
        (pa.int64(), 7, Decimal(12, 2), Exact("7.00")),
        (pa.int8(), 7, Decimal(2, 0), Exact(7)),
        (pa.uint64(), 2**64 - 1, Decimal(38, 0), Exact(2**64 - 1)),
        (pa.float64(), 9.99, Decimal(12, 2), Exact("9.99")),
        (pa.float64(), 123456789.12345678, Decimal(38, 18), Exact("123456789.12345678")),
        (pa.decimal128(5, 1), Exact("7.5"), Decimal(12, 2), Exact("7.50")),
        (pa.decimal256(38, 2), Exact("7.25"), Decimal(12, 2), Exact("7.25")),
    ],
    ids=str,
)
def test_an_arrow_number_becomes_an_exact_decimal(arrow, value, kind, expected):
    assert cast([value, None], kind, arrow=arrow) == [expected, None]


@pytest.mark.parametrize(
    ("arrow", "value"),
    [
        (pa.int64(), 10**10),
        (pa.uint64(), 2**64 - 1),
        (pa.float64(), 9.999),
        (pa.float64(), math.nan),
        (pa.float64(), math.inf),
        (pa.decimal128(5, 3), Exact("9.999")),
        (pa.decimal256(38, 2), Exact(10**12)),
        (pa.string(), "1.5"),
    ],
    ids=str,
)
def test_an_arrow_number_that_no_decimal_holds_is_refused(arrow, value):
    with pytest.raises(InvalidValue):
        cast([value], Decimal(12, 2), arrow=arrow)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([[]], Array(BIGINT), [[]]),
        ([[None]], Array(BIGINT), [[None]]),
        ([[[]]], Array(Array(TEXT)), [[[]]]),
        ([{"x": 1, "Y": None}], POINT, [{"x": 1, "Y": None}]),
        ([{"x": 1, "y": 2}], POINT, [{"x": 1, "Y": 2}]),
        ([[1, 2]], Array(Atomic("tinyint")), [[1, 2]]),
        ([[1.0]], Array(BIGINT), [[1]]),
        ([[7]], Array(Decimal(12, 2)), [[Exact("7.00")]]),
    ],
    ids=str,
)
def test_nested_arrow_values_are_taken_part_by_part(values, kind, expected):
    assert cast(values, kind) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([["a"]], Array(BIGINT)),
        ([[1]], Array(TEXT)),
        ([[1.5]], Array(BIGINT)),
        ([[128]], Array(Atomic("tinyint"))),
        ([{"x": 1}], POINT),
        ([{"x": 1, "Y": 2, "z": 3}], POINT),
        ([{"x": 1, "z": 2}], POINT),
        ([1], Array(BIGINT)),
    ],
    ids=str,
)
def test_nested_arrow_values_that_do_not_fit_are_refused(values, kind):
    with pytest.raises(InvalidValue):
        cast(values, kind)


def test_pandas_has_no_null_but_nan_so_nan_is_null():
    frame = pd.DataFrame({"c": [1.0, math.nan]})
    assert read(frame, Schema((Column("c", BIGINT),))).column("c").to_pylist() == [1, None]
    assert read(frame, Schema((Column("c", Atomic("double")),))).column("c").to_pylist() == [1.0, None]


# -- time zones -----------------------------------------------------------------------------------

LTZ, NTZ, DATE = Atomic("timestamp"), Atomic("timestamp_ntz"), Atomic("date")
WALL_CLOCK = {
    "an ordinary day": (dt.datetime(2024, 7, 1, 12), dt.datetime(2024, 7, 1, 10, tzinfo=UTC)),  # noqa: DTZ001
    "twice a year": (dt.datetime(2020, 10, 25, 2, 30), dt.datetime(2020, 10, 25, 0, 30, tzinfo=UTC)),  # noqa: DTZ001
    "in the gap": (dt.datetime(2020, 3, 29, 2, 30), dt.datetime(2020, 3, 29, 1, 30, tzinfo=UTC)),  # noqa: DTZ001
    "before zones": (dt.datetime(1800, 1, 1), dt.datetime(1799, 12, 31, 22, 54, 39, tzinfo=UTC)),  # noqa: DTZ001
}


@pytest.mark.parametrize(("local", "instant"), WALL_CLOCK.values(), ids=WALL_CLOCK)
def test_a_time_without_a_zone_is_meant_in_the_lakes_zone_whoever_gives_it(local, instant):
    zone = "Europe/Vienna"
    assert stored(local, LTZ, zone) == instant
    assert cast([local, None], LTZ, zone) == [instant, None]
    assert cast([local], LTZ, zone, pa.timestamp("ns")) == [instant]
    assert stored([local], Array(LTZ), zone) == [instant]
    assert cast([[local]], Array(LTZ), zone) == [[instant]]


def test_an_instant_is_stored_in_a_column_without_zone_as_the_lakes_clocks_show_it():
    instant = dt.datetime(2024, 7, 1, 22, 30, tzinfo=UTC)
    assert cast([instant], NTZ, "Europe/Vienna") == [dt.datetime(2024, 7, 2, 0, 30)]  # noqa: DTZ001
    assert cast([instant], NTZ, "UTC") == [dt.datetime(2024, 7, 1, 22, 30)]  # noqa: DTZ001


def test_a_date_is_midnight_in_the_lakes_zone():
    day, midnight = dt.date(2024, 7, 1), dt.datetime(2024, 6, 30, 22, tzinfo=UTC)
    assert cast([day], LTZ, "Europe/Vienna") == [midnight]
    assert cast([day], NTZ, "Europe/Vienna") == [dt.datetime(2024, 7, 1)]  # noqa: DTZ001
    assert cast([midnight], DATE, "Europe/Vienna") == [day]
    with pytest.raises(InvalidValue, match="not a date"):
        cast([midnight], DATE, "UTC")


def test_every_refusal_is_an_error_of_ours():
    strange = [object(), ..., type, lambda: 1, {1}, float, np.datetime64("2020-01-01"), 1j]
    for kind in (BIGINT, TEXT, Atomic("timestamp"), Decimal(5, 2), Array(BIGINT), Map(TEXT, BIGINT), POINT):
        for value in strange:
            if isinstance(value, set) and kind == Array(BIGINT):
                continue
            with pytest.raises(AnabranchError):
                stored(value, kind)
