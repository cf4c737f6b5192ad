"""A stored query through refreshes, on Spark: every way in which rows are found, written and shown."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.errors import Damaged, InvalidName, NotIncremental
from anabranch.iceberg import small_changes
from anabranch.refresh import inputs
from anabranch.write.row_level_writes import RowCounts
from tests.equivalence.kept import Kept

TOTALS = "SELECT region, avg(amount) AS average, count(*) AS n FROM orders GROUP BY region"
ODD = """SELECT id, array(id, NULL) AS l, named_struct('x', array(region), 'n', CAST('NaN' AS DOUBLE)) AS s
         FROM orders"""


@pytest.fixture
def shop(spark_lake: ab.Lake) -> ab.Lake:
    """Orders of two regions, one of them unknown."""
    spark_lake.create_table("orders", "id BIGINT, region STRING, amount DECIMAL(12,2)")
    spark_lake.insert("orders", [(1, "north", 1), (2, "north", 2), (3, None, 5), (3, None, 5)])
    return spark_lake


def rows(lake: ab.Lake) -> Counter[str]:
    return Counter(map(str, map(tuple, lake.table("kept").collect())))


def test_what_did_not_change_is_not_computed(shop: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(shop, "kept", TOTALS)
    before = shop.snapshot().lsn
    monkeypatch.setattr(
        shop._context.engine, "run_query", lambda *_: pytest.fail("Spark was asked"), raising=False
    )
    assert kept.refresh() == RowCounts()
    assert shop.snapshot().lsn == before


def test_hidden_columns_are_nobodys_business(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", TOTALS)
    since = shop.snapshot().lsn
    assert kept.definition.result.maintained.hidden_columns
    shop.insert("orders", [(4, "north", 6)])
    kept.refresh()
    shown = ["region", "average", "n"]
    assert shop.table("kept").columns == shown
    assert shop.snapshot().arrow("kept").column_names == shown
    assert shop.changes("kept", since).columns == [*shown, "_weight"]
    assert [str(info.schema) for info in shop.tables() if info.name == "kept"] == [
        "region STRING, average DECIMAL(16,6), n BIGINT NOT NULL"
    ]
    with pytest.raises(InvalidName):
        shop.create_table("mine", "__h0 INT")


def test_rows_that_only_come_are_appended(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", "SELECT id, amount * 2 AS twice FROM orders WHERE amount > 1")
    shop.insert("orders", [(4, "north", 6), (4, "north", 6), (5, "north", 0)])
    assert kept.refresh() == RowCounts(inserted=2)
    version = shop._context.catalog.lake_version().version(kept.definition.name)
    metadata = shop._context.reader.read_metadata(version.metadata_location)
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary.operation.value == "append"
    assert kept.verify().ok


def test_maps_are_refused_where_rows_would_be_added_up(shop: ab.Lake) -> None:
    with pytest.raises(NotIncremental, match="holds maps"):
        Kept(shop, "kept", "SELECT id, map('a', id) AS m FROM orders")
    shop.create_table("tagged", "id BIGINT, tags MAP<STRING, INT>")
    shop.insert("tagged", [(1, {"a": 1}), (2, {"b": None})])
    kept = Kept(shop, "kept", "SELECT id, tags['a'] AS a FROM tagged")
    shop.update("tagged", {"tags": "map('a', 7)"}, where="id = 2")
    kept.refresh()
    assert rows(shop) == Counter([str((1, 1)), str((2, 7))])


@pytest.mark.rotating(2)
@pytest.mark.parametrize("word", ["IN", "NOT IN"])
def test_values_of_two_types_may_equal_one_without_doubling_its_row(shop: ab.Lake, word: str) -> None:
    shop.create_table("codes", "code STRING")
    shop.insert("codes", [("2",)])
    kept = Kept(shop, "kept", f"SELECT id, region FROM orders WHERE id {word} (SELECT code FROM codes)")
    for change in ([("1",), ("01",), ("001",)], [("3",), ("03",)]):
        shop.insert("codes", change)
        kept.refresh()
        assert kept.verify().ok
    shop.delete("codes", where="code = '01'")
    shop.insert("orders", [(1, "south", 4), (2, None, 1)])
    kept.refresh()
    assert kept.verify().ok
    assert not kept.computed_anew


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, id, amount FROM regions LEFT JOIN orders ON name = region AND region LIKE '%o%'",
        "SELECT name FROM regions r WHERE EXISTS (SELECT 1 FROM orders o WHERE o.region = r.name)",
        "SELECT name FROM regions r WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.region = r.name)",
    ],
)
def test_partners_in_a_large_table_are_read_at_one_end(
    shop: ab.Lake, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    shop.set("driver_rows", 0)
    monkeypatch.setattr(inputs.Sources, "_size", lambda *_: 1 << 40)
    texts: list[str] = []
    plain = shop._context.engine.run_query
    monkeypatch.setattr(
        shop._context.engine,
        "run_query",
        lambda text, rows: texts.append(text) or plain(text, rows),
        raising=False,
    )
    shop.create_table("regions", "name STRING")
    shop.insert("regions", [("north",), ("north",), ("south",), ("west",), (None,)])
    kept = Kept(shop, "kept", query)
    texts.clear()
    with shop.transaction() as tx:
        tx.insert("orders", [(5, "south", 3), (5, "south", 3), (5, "south", 3), (6, "east", 9)])
        tx.delete("orders", where="id = 1")
        tx.insert("regions", [("east",), ("east",)])
    kept.refresh()
    assert kept.verify().ok
    with shop.transaction() as tx:
        tx.delete("orders", where="id = 5")
        tx.insert("orders", [(5, "south", 3), (7, "west", 1)])
        tx.delete("regions", where="name = 'north'")
    kept.refresh()
    assert kept.verify().ok
    assert any("array_repeat" in text for text in texts)


def test_a_refresh_covers_many_commits_at_once(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", TOTALS)
    shop.insert("orders", [(7, "west", 1)])
    shop.truncate("orders")
    shop.insert("orders", [(8, "west", 1), (9, "north", 3)])
    shop.update("orders", {"amount": "amount + 1"}, where="id = 9")
    shop.delete("orders", where="id = 8")
    kept.refresh()
    assert rows(shop) == Counter([str(("north", Decimal("4.000000"), 1))])
    assert kept.verify().ok


def test_a_source_that_was_dropped_and_made_anew_is_another_table(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", TOTALS)
    with shop.transaction() as tx:
        tx.drop_table("orders")
        tx.create_table("orders", "id BIGINT, region STRING, amount DECIMAL(12,2)")
        tx.insert("orders", [(1, "west", 4)])
    kept.refresh()
    assert rows(shop) == Counter([str(("west", Decimal("4.000000"), 1))])


def test_an_update_to_the_same_value_writes_nothing(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", TOTALS)
    shop.update("orders", {"amount": "amount"})
    assert kept.refresh() == RowCounts()


@pytest.mark.rotating(3)
@pytest.mark.parametrize("text", [TOTALS, ODD, "SELECT DISTINCT region FROM orders"])
def test_large_tables_and_odd_types_are_merged_by_spark(
    place: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(small_changes, "SMALL_BYTES", 0)
    monkeypatch.setattr(inputs, "FEW_BYTES", 0)
    with ab.connect(place, spark=spark, driver_rewrite_bytes=0) as lake:
        lake.create_table("orders", "id BIGINT, region STRING, amount DECIMAL(12,2)")
        lake.insert("orders", [(1, "north", 1), (2, "north", 2), (3, None, 5), (3, None, 5)])
        kept = Kept(lake, "kept", text)
        for change in (
            lambda: lake.delete("orders", where="id = 3"),
            lambda: lake.insert("orders", [(3, None, 7), (4, "south", 1), (4, "south", 1)]),
            lambda: lake.update("orders", {"amount": "amount + 1"}, where="id > 1"),
            lambda: lake.truncate("orders"),
            lambda: lake.insert("orders", [(1, "north", 1)]),
        ):
            change()
            kept.refresh()
            assert kept.verify().ok
        assert sum(rows(lake).values()) == 1


def test_a_stored_row_that_somebody_changed_stops_the_refresh(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", "SELECT id, region FROM orders")
    with shop.transaction() as tx:
        tx.truncate("kept")
        tx.insert("kept", [(1, "north"), (2, "elsewhere")])
    before = rows(shop)
    shop.delete("orders", where="id = 2")
    with pytest.raises(Damaged, match=r'the stored rows of "kept"'):
        kept.refresh()
    assert rows(shop) == before


def test_first_rows_come_from_state_that_nobody_sees(shop: ab.Lake) -> None:
    text = "SELECT region, sum(amount) AS total FROM orders GROUP BY region ORDER BY total DESC LIMIT 1"
    kept = Kept(shop, "kept", text)
    assert kept.strategies == ("stored state", "recompute")
    assert not kept.computed_anew
    shop.insert("orders", [(5, "north", 20)])
    kept.refresh()
    assert rows(shop) == Counter([str(("north", Decimal("23.00")))])
    shop.delete("orders", where="id = 5")
    kept.refresh()
    assert rows(shop) == Counter([str((None, Decimal("10.00")))])


def test_a_change_file_holds_what_changed(shop: ab.Lake) -> None:
    kept = Kept(shop, "kept", TOTALS)
    since = shop.snapshot().lsn
    shop.update("orders", {"amount": "amount + 1"}, where="id = 1")
    kept.refresh()
    changes = shop.changes("kept", since).collect()
    assert sorted((row["region"], row["n"], row["_weight"]) for row in changes) == [
        ("north", 2, -1),
        ("north", 2, 1),
    ]


def test_a_column_without_a_type_is_kept_in_files_too(spark_lake: ab.Lake, tmp_path: Path) -> None:
    engine = spark_lake._context.engine
    frame = engine.run_query("SELECT 1 AS a, NULL AS `b.c`", {})
    kept = engine.materialise(frame, str(tmp_path / "rows"))
    assert engine.types_of(kept) == engine.types_of(frame)
    assert kept.collect() == frame.collect()
