"""What people hand over as rows: every kind goes in the same way, through every verb that takes rows."""

from __future__ import annotations

from collections import namedtuple

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

import anabranch as ab
from anabranch.errors import AmbiguousRows, InputError, InvalidValue, UnknownColumn
from anabranch.failpoints import Failpoints

pytestmark = pytest.mark.rotating(2)

DDL = "id BIGINT NOT NULL, region STRING, amount DECIMAL(12,2)"
Order = namedtuple("Order", "id region amount")
ROWS = [
    {"id": 1, "region": "north", "amount": 5},
    {"id": 2, "region": None, "amount": None},
]
EXPECTED = [(1, "north", "5.00"), (2, None, None)]
ARROW = pa.table({"id": [1, 2], "region": ["north", None], "amount": [5, None]})

SMALL_FORMS = {
    "dicts": lambda: ROWS,
    "dicts in another order and case": lambda: [{"AMOUNT": 5, "Region": "north", "ID": 1}, {"id": 2}],
    "tuples": lambda: [(1, "north", 5), (2, None, None)],
    "lists": lambda: [[1, "north", 5], [2, None, None]],
    "named tuples": lambda: [Order(1, "north", 5), Order(2, None, None)],
    "rows of Spark": lambda: [Row(id=1, region="north", amount=5), Row(id=2, region=None, amount=None)],
    "a generator": lambda: (row for row in ROWS),
    "an Arrow table": lambda: ARROW,
    "an Arrow batch": lambda: ARROW.to_batches()[0],
    "an Arrow reader": ARROW.to_reader,
    "an Arrow table in another order": lambda: ARROW.select(["amount", "id", "region"]),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with an index": lambda: pd.DataFrame(ROWS, index=["x", "y"]),
    "pandas as Arrow holds it": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
}


def contents(lake, name="orders"):
    """The rows as tuples, decimals as text."""
    found = [tuple(row.values()) for row in lake.arrow(name).to_pylist()]
    return sorted((key, region, None if amount is None else str(amount)) for key, region, amount in found)


@pytest.mark.parametrize("form", SMALL_FORMS.values(), ids=SMALL_FORMS)
def test_every_small_kind_of_rows_is_inserted_without_spark(lake, form):
    lake.create_table("orders", DDL)
    written = lake.insert("orders", form())
    assert (written.lsn, written.inserted, written.deleted) == (2, 2, 0)
    assert contents(lake) == EXPECTED
    assert not lake._context.engine.is_started


@pytest.mark.parametrize(
    "form",
    ["dicts", "tuples", "a generator", "an Arrow reader", "pandas", "pandas as Arrow holds it"],
)
def test_every_small_kind_of_rows_is_merged(spark_lake, form):
    spark_lake.create_table("orders", DDL)
    spark_lake.insert("orders", [(1, "south", 1), (3, "west", 3)])
    written = spark_lake.merge("orders", SMALL_FORMS[form](), on=["ID"])
    assert (written.inserted, written.deleted) == (2, 1)
    assert contents(spark_lake) == [*EXPECTED, (3, "west", "3.00")]


def test_a_flag_that_is_null_in_every_incoming_row_deletes_nothing(spark_lake):
    spark_lake.create_table("t", "id INT, v INT")
    spark_lake.insert("t", [(1, 1)])
    rows = [{"id": 1, "v": 2, "gone": None}, {"id": 2, "v": 3, "gone": None}]
    spark_lake.merge("t", rows, on=["id"], delete_when="gone")
    assert sorted(map(tuple, spark_lake.table("t").collect())) == [(1, 2), (2, 3)]


def test_a_frame_is_inserted_by_name_and_merged(spark_lake):
    lake = spark_lake
    session = lake._context.engine.session
    lake.create_table("orders", DDL)
    frame = session.sql("SELECT 'north' AS REGION, 5 AS amount, 1 AS id UNION ALL SELECT NULL, NULL, 2")
    written = lake.insert("orders", frame)
    assert written.inserted == 2
    assert contents(lake) == EXPECTED
    merged = lake.merge(
        "orders", session.sql("SELECT 2L AS id, 'east' AS region UNION ALL SELECT 3L, NULL"), on=["id"]
    )
    assert (merged.inserted, merged.deleted) == (2, 1)
    assert contents(lake) == [EXPECTED[0], (2, "east", None), (3, None, None)]


def test_rows_of_another_table_of_the_lake_are_inserted(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    lake.insert("orders", ROWS)
    lake.insert("orders", lake.table("orders"))
    with lake.snapshot() as snapshot:
        lake.insert("orders", snapshot.sql("SELECT id + 10 AS id FROM orders WHERE amount > 1"))
    assert [row[0] for row in contents(lake)] == [1, 1, 2, 2, 11, 11]


@pytest.mark.parametrize(
    "rows", [[], (), pa.table({"id": pa.array([], pa.int64())}), pd.DataFrame({"id": []})]
)
def test_no_rows_are_no_commit(spark_lake, rows):
    if isinstance(rows, pd.DataFrame):
        rows = rows.astype("int64")
    spark_lake.create_table("orders", DDL)
    assert spark_lake.insert("orders", rows).lsn is None
    assert spark_lake.merge("orders", rows, on=["id"]).lsn is None
    assert spark_lake.lsn == 1


def test_a_frame_without_rows_is_no_commit(spark_lake):
    spark_lake.create_table("orders", DDL)
    assert spark_lake.insert("orders", spark_lake.table("orders")).lsn is None
    assert spark_lake.merge("orders", spark_lake.table("orders"), on=["id"]).lsn is None
    assert spark_lake.lsn == 1


@pytest.mark.parametrize("form", ["a generator", "an Arrow reader"])
def test_rows_that_can_be_read_only_once_survive_a_write_that_starts_over(spark_lake, place, spark, form):
    """Another writer is faster once; the merge is done again, with all of its rows."""
    spark_lake.create_table("orders", DDL)
    failpoints = Failpoints()
    with ab.connect(place, spark=spark, failpoints=failpoints) as lake:

        def overtake() -> None:
            failpoints.disarm("commit.before_metadata")
            spark_lake.insert("orders", [(1, "south", 1)])

        failpoints.arm("commit.before_metadata", overtake)
        lake.merge("orders", SMALL_FORMS[form](), on=["id"])
    assert contents(spark_lake) == EXPECTED


def test_columns_that_incoming_rows_lack_stay_what_they_are(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    lake.insert("orders", [(1, "north", 1), (2, "south", 2)])
    lake.merge("orders", [{"id": 1, "amount": 9}, {"id": 3, "amount": 3}], on=["id"])
    lake.merge("orders", ({"id": 2, "amount": 8} for _ in range(1)), on=["id"])
    assert contents(lake) == [(1, "north", "9.00"), (2, "south", "8.00"), (3, None, "3.00")]


def test_rows_are_deleted_when_a_column_of_their_own_says_so(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    lake.insert("orders", [(1, "north", 1), (2, "south", 2), (3, "west", 3)])
    rows = [
        {"id": 1, "region": "x", "gone": True},
        {"id": 2, "region": "y", "gone": False},
        {"id": 3, "region": "z", "gone": None},
        {"id": 4, "region": "never here", "gone": True},
    ]
    written = lake.merge("orders", rows, on=["id"], delete_when="gone")
    assert (written.inserted, written.deleted) == (2, 3)
    assert contents(lake) == [(2, "y", "2.00"), (3, "z", "3.00")]
    lake.merge(
        "orders", [{"id": 2, "region": "south"}], on=["id"], delete_when="target.amount < source.id + 1"
    )
    assert contents(lake) == [(3, "z", "3.00")]


def test_several_rows_that_claim_one_row_are_refused(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    lake.insert("orders", [(1, "north", 1)])
    for key in (1, 2):
        with pytest.raises(AmbiguousRows) as caught:
            lake.merge("orders", [{"id": key, "amount": 1}, {"id": key, "amount": 2}], on=["id"])
        assert caught.value.code == "AB109"
    assert (lake.lsn, contents(lake)) == (2, [(1, "north", "1.00")])


def test_a_key_that_matches_several_rows_changes_them_all(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    lake.insert("orders", [(1, "north", 1), (1, "south", 2)])
    written = lake.merge("orders", [{"id": 1, "amount": 9}], on=["id"])
    assert (written.inserted, written.deleted) == (2, 2)
    assert contents(lake) == [(1, "north", "9.00"), (1, "south", "9.00")]


def test_an_extra_column_is_refused_where_nothing_asks_for_it(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    extra = [{"id": 1, "colour": "red"}]
    for rows in (extra, pd.DataFrame(extra), pa.Table.from_pylist(extra)):
        with pytest.raises(UnknownColumn):
            lake.insert("orders", rows)
        with pytest.raises(UnknownColumn):
            lake.merge("orders", rows, on=["id"])
    frame = lake._context.engine.session.sql("SELECT 1 AS id, 'red' AS colour")
    with pytest.raises(UnknownColumn):
        lake.insert("orders", frame)
    with pytest.raises(UnknownColumn):
        lake.merge("orders", frame, on=["id"])
    assert lake.lsn == 1


@pytest.mark.parametrize(
    ("on", "kind"),
    [
        ([], InputError),
        ("id", InputError),
        (None, InputError),
        (7, InputError),
        (["nope"], UnknownColumn),
        ([None], UnknownColumn),
        (["id", "ID"], InputError),
        (["amount"], UnknownColumn),
    ],
    ids=str,
)
def test_merging_needs_keys_that_both_sides_have(lake, on, kind):
    lake.create_table("orders", DDL)
    with pytest.raises(kind):
        lake.merge("orders", [{"id": 1}], on=on)
    assert lake.lsn == 1


def test_values_that_do_not_fit_are_refused_on_either_path(spark_lake):
    lake = spark_lake
    lake.create_table("orders", DDL)
    session = lake._context.engine.session
    too_much = 10**10
    for rows in ([{"id": 1, "amount": too_much}], session.sql(f"SELECT 1 AS id, {too_much} AS amount")):
        with pytest.raises(InvalidValue):
            lake.insert("orders", rows)
        with pytest.raises(InvalidValue):
            lake.merge("orders", rows, on=["id"])
    assert lake.lsn == 1
