"""Refreshes of small changes, in lakes: without the engine where they can be, and right in any case."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engine.local.locate_rows import look_for_rows
from anabranch.iceberg.parquet_files import Removal
from anabranch.names import TableName
from tests.engines.lakes import duck_lake
from tests.large_tables import tables_are_large
from tests.position_deletes.forced import marked, marking_always

pytestmark = pytest.mark.rotating(3)

QUERIES = {
    "grouped": "SELECT region, COUNT(*) AS n, SUM(amount) AS total FROM sales GROUP BY region",
    "joined": "SELECT s.id, p.label, s.amount FROM sales s JOIN products p ON s.product = p.product",
    "left_joined": "SELECT s.id, p.label FROM sales s LEFT JOIN products p ON s.product = p.product",
    "unsold": "SELECT label FROM products p "
    "WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.product = p.product)",
    "largest": "SELECT region, MAX(amount) AS most FROM sales GROUP BY region",
    "best": "SELECT id, amount FROM sales ORDER BY amount DESC, id LIMIT 3",
    "chosen": "SELECT id, region FROM sales WHERE region LIKE 'n%' AND amount > 5.00",
}
WAYS: dict[str, dict[str, int]] = {
    "all of it read here": {},
    "looked up in files": {"driver_rows": 3},
    "looked up by the engine": {"driver_rows": 3, "driver_lookup_bytes": 0},
    "computed by the engine": {"driver_rows": 0},
}


def sale(number: int) -> tuple[Any, ...]:
    regions = ["north", "south", None, "new\nland"]
    return number, number % 5 or None, regions[number % 4], Decimal(number % 7) + Decimal("0.25")


@contextmanager
def shop(lake: ab.Lake) -> Iterator[ab.Lake]:
    with lake:
        lake.create_table("sales", "id BIGINT, product INT, region STRING, amount DECIMAL(12,2)")
        lake.create_table("products", "product BIGINT, label STRING")
        lake.insert("sales", [sale(number) for number in range(40)])
        lake.insert("products", [(number, f"p{number}") for number in range(8)])
        for name, query in QUERIES.items():
            lake.create_stream_table(name, query, refresh_mode="differential")
        yield lake


def change(lake: ab.Lake, number: int) -> None:
    lake.insert("sales", [sale(100 + 3 * number), sale(101 + 3 * number)])
    lake.delete("sales", where=f"id = {number}")
    lake.update("sales", {"amount": "amount + 1", "product": "7"}, where=f"id = {10 + number}")
    if number % 2:
        lake.update("products", {"label": f"'again {number}'"}, where="product = 1")
        lake.insert("products", [(20 + number, None)])


def all_right(lake: ab.Lake) -> bool:
    return all(lake.verify(name).ok for name in QUERIES)


@pytest.mark.parametrize("small", [0, 8 << 20])
@pytest.mark.parametrize("rewritten", [0, 64 << 20])
def test_stored_rows_are_looked_up_however_they_are_taken_out(
    place: Path, clock: ab.ManualClock, monkeypatch: pytest.MonkeyPatch, small: int, rewritten: int
) -> None:
    found: list[Removal | None] = []

    def watched(*arguments: Any, **named: Any) -> Removal | None:
        found.append(look_for_rows(*arguments, **named))
        return found[-1]

    monkeypatch.setattr("anabranch.refresh.apply_change.look_for_rows", watched)
    monkeypatch.setattr("anabranch.refresh.apply_change.LOOKED_UP_ROWS", 0)
    monkeypatch.setattr("anabranch.refresh.apply_change.FEW", 0)
    monkeypatch.setattr("anabranch.refresh.apply_change.SMALL_TABLE_BYTES", small)
    with shop(duck_lake(place, clock=clock, driver_rewrite_bytes=rewritten)) as lake:
        for number in range(4):
            change(lake, number)
            for name in QUERIES:
                assert lake.refresh_stream_table(name).status == "SUCCEEDED"
            assert all_right(lake), number
    assert len([removal for removal in found if removal is not None]) > 8


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("large", [False, True])
def test_however_it_is_computed_it_is_right(
    place: Path, clock: ab.ManualClock, way: str, large: bool
) -> None:
    with tables_are_large(large), shop(duck_lake(place, clock=clock, **WAYS[way])) as lake:
        for number in range(4):
            change(lake, number)
            for name in QUERIES:
                assert lake.refresh_stream_table(name).status == "SUCCEEDED"
            assert all_right(lake), number


@pytest.mark.parametrize("way", ["all of it read here", "looked up in files"])
def test_the_engine_is_left_alone(place: Path, clock: ab.ManualClock, way: str) -> None:
    with shop(duck_lake(place, clock=clock, **WAYS[way])) as lake:
        change(lake, 1)
        before = lake.statements_run
        for name in QUERIES:
            lake.refresh_stream_table(name)
        run = lake.statements_run - before
        # The first rows of an order are taken by the engine where there are many to take them from.
        assert run == (0 if way == "all of it read here" else 1)
        assert all_right(lake)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("large", [False, True])
def test_marked_rows_are_neither_read_nor_looked_up(
    place: Path, clock: ab.ManualClock, way: str, large: bool
) -> None:
    with tables_are_large(large), marking_always(), shop(duck_lake(place, clock=clock, **WAYS[way])) as lake:
        for number in range(3):
            change(lake, number)
            assert marked(lake, "sales")
            for name in QUERIES:
                lake.refresh_stream_table(name)
            assert all_right(lake), number


def test_a_key_that_its_column_cant_have_finds_nothing(place: Path, clock: ab.ManualClock) -> None:
    with shop(duck_lake(place, clock=clock, driver_rows=3)) as lake:
        lake.insert("products", [(2**40, "beyond"), (None, "nothing")])
        lake.refresh_stream_table("joined")
        lake.refresh_stream_table("unsold")
        assert all_right_in(lake, "joined", "unsold")
        labels = {row["label"] for row in lake.sql("SELECT label FROM unsold").collect()}
        assert {"beyond", "nothing"} <= labels


def all_right_in(lake: ab.Lake, *names: str) -> bool:
    return all(lake.verify(name).ok for name in names)


def test_a_sum_that_doesnt_fit_is_the_engines_error(place: Path, clock: ab.ManualClock) -> None:
    with duck_lake(place, clock=clock) as lake:
        lake.create_table("t", "k INT, n INT")
        lake.insert("t", [(1, 2**31 - 1)])
        lake.create_stream_table(
            "more", "SELECT k, n + 1 - 1 AS n FROM t WHERE k > 1", refresh_mode="differential"
        )
        lake.insert("t", [(2, 2**31 - 1)])
        with pytest.raises(ab.AnabranchError):
            lake.refresh_stream_table("more")
        assert lake.sql("SELECT * FROM more").collect() == []


def test_a_file_that_is_gone_is_damage_and_nothing_is_published(place: Path, clock: ab.ManualClock) -> None:
    with shop(duck_lake(place, clock=clock, driver_rows=3)) as lake:
        table = lake._context.catalog.lake_version().version(TableName.parse("sales")).table_id
        lake.insert("products", [(30, "new")])
        for file in place.glob(f"tables/{table}/data/**/*.parquet"):
            file.write_bytes(b"")
        with pytest.raises(ab.AnabranchError) as caught:
            lake.refresh_stream_table("joined")
        assert "not the one that was written" in str(caught.value)


@pytest.mark.parametrize("way", ["looked up in files", "looked up by the engine"])
def test_on_spark_too(place: Path, spark: SparkSession, way: str) -> None:
    with shop(ab.connect(place, spark=spark, **WAYS[way])) as lake:
        change(lake, 1)
        for name in QUERIES:
            lake.refresh_stream_table(name)
        assert all_right(lake)


@pytest.mark.parametrize("rows", [0, 50_000])
def test_a_time_that_a_zone_skips_is_kept_where_there_is_no_zone(
    place: Path, spark: SparkSession, rows: int
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with ab.connect(place, spark=session, time_zone="Europe/Berlin", driver_rows=rows) as lake:
        lake.create_table("t", "id INT, at TIMESTAMP_NTZ")
        lake.create_stream_table("kept", "SELECT id, at FROM t", refresh_mode="differential")
        skipped = dt.datetime(2024, 3, 31, 2, 30)  # noqa: DTZ001
        lake.insert("t", [(1, skipped)])
        lake.refresh_stream_table("kept")
        with lake.snapshot() as snapshot:
            assert snapshot.arrow("kept").to_pydict() == {"id": [1], "at": [skipped]}
