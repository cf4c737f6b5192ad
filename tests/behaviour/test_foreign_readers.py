"""What the lake writes is plain Iceberg: another client reads the same rows, and the metadata adds up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual, IsNaN, LessThan
from pyiceberg.table import Table
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.commit.stage_metadata import KEPT_METADATA_FILES, MANIFESTS_BEFORE_MERGE
from tests.consistency.bags import bag, bag_of, check_history, read, version_at
from tests.consistency.foreign import WORDS, Pair, opened

pytestmark = pytest.mark.slow_on("postgres")

ONE, TWO, THREE, FOUR = (1, "one"), (2, "two"), (3, "three"), (4, "four")


@pytest.fixture
def pair(place: Path, catalog: str | None) -> Iterator[Pair]:
    with opened(place, catalog) as pair:
        yield pair


@pytest.fixture
def spark_pair(place: Path, spark: SparkSession) -> Iterator[Pair]:
    with opened(place, None, spark=spark) as pair:
        yield pair


def check(pair: Pair, name: str) -> None:
    """Rows now and at every version, counts, logs and file lists, all as the other client sees them."""
    table = pair.load(name)
    assert bag_of(table.scan().to_arrow()) == read(pair.lake, name)
    for lsn in check_history(pair.lake, name):
        version = version_at(pair.lake, name, lsn)
        if version.snapshot_id is not None:
            then = table.scan(snapshot_id=version.snapshot_id).to_arrow()
            assert bag_of(then.select(list(version.schema.names))) == read(pair.lake, name, lsn)
            assert then.num_rows == version.rows
    check_metadata(table)


def check_metadata(table: Table) -> None:
    metadata = table.metadata
    assert metadata.format_version == 2
    snapshot = table.current_snapshot()
    if snapshot is None:
        return
    files = table.inspect.files().to_pylist()
    summary = snapshot.summary
    assert summary is not None
    assert int(summary["total-data-files"]) == len(files)
    assert int(summary["total-records"]) == sum(file["record_count"] for file in files)
    assert int(summary["total-files-size"]) == sum(file["file_size_in_bytes"] for file in files)
    for file in files:
        assert Path(file["file_path"].removeprefix("file://")).stat().st_size == file["file_size_in_bytes"]
    assert metadata.snapshot_log[-1].snapshot_id == snapshot.snapshot_id
    assert metadata.refs["main"].snapshot_id == snapshot.snapshot_id
    sequence = [item.sequence_number for item in metadata.snapshots]
    assert sequence == sorted(set(sequence))
    assert metadata.last_sequence_number == sequence[-1]
    times = [entry.timestamp_ms for entry in metadata.snapshot_log]
    assert times == sorted(times)
    listed = {item.snapshot_id for item in metadata.snapshots}
    assert {entry.snapshot_id for entry in metadata.snapshot_log} <= listed
    assert len(metadata.metadata_log) <= KEPT_METADATA_FILES


# -- without Spark --------------------------------------------------------------------------------


def test_a_table_that_the_lake_created_is_there_for_another_client(pair: Pair) -> None:
    pair.lake.create_table("t", "id BIGINT NOT NULL COMMENT 'which', word STRING")
    pair.lake.create_table("sales.orders", WORDS)
    assert pair.catalog.list_tables("main") == [("main", "t")]
    assert pair.catalog.list_tables("sales") == [("sales", "orders")]
    [which, word] = pair.load("t").schema().fields
    assert (which.name, which.required, which.doc) == ("id", True, "which")
    assert (word.name, word.required) == ("word", False)
    assert pair.scanned("t") == bag()
    check(pair, "t")
    pair.lake.drop_table("t")
    assert pair.catalog.list_tables("main") == []


def test_rows_that_the_lake_wrote_read_the_same_at_every_version(pair: Pair) -> None:
    pair.lake.create_table("t", WORDS)
    pair.lake.insert("t", [ONE, (None, None)])
    pair.lake.insert("t", [TWO, TWO])
    pair.lake.truncate("t")
    with pair.lake.transaction() as tx:
        tx.insert("t", [THREE])
        tx.truncate("t")
        tx.insert("t", [FOUR])
        tx.insert("t", [ONE])
    check(pair, "t")
    assert pair.scanned("t") == bag(FOUR, ONE)


def test_a_table_created_and_filled_at_once_has_one_version(pair: Pair) -> None:
    with pair.lake.transaction() as tx:
        tx.create_table("t", WORDS)
        tx.insert("t", [ONE])
        tx.insert("t", [TWO])
    assert len(pair.load("t").snapshots()) == 1
    check(pair, "t")


def test_many_small_writes_keep_manifests_and_metadata_few(lake: ab.Lake, place: Path) -> None:
    with opened(place, None) as pair:
        pair.lake.create_table("t", WORDS)
        most = 0
        for n in range(MANIFESTS_BEFORE_MERGE + 5):
            pair.lake.insert("t", [(n, "added")])
            most = max(most, len(manifests(pair)))
        assert most <= MANIFESTS_BEFORE_MERGE
        for n in range(MANIFESTS_BEFORE_MERGE + 5):
            with pair.lake.transaction() as tx:
                tx.truncate("t")
                tx.insert("t", [(n, "renewed")])
            most = max(most, len(manifests(pair)))
        assert most <= MANIFESTS_BEFORE_MERGE
        # The one that says what went, and the one that says what came.
        assert len(manifests(pair)) <= 2
        check_metadata(pair.load("t"))
        assert len(pair.load("t").metadata.metadata_log) == KEPT_METADATA_FILES
        assert pair.scanned("t") == read(pair.lake, "t") == bag((MANIFESTS_BEFORE_MERGE + 4, "renewed"))


def manifests(pair: Pair) -> list[Any]:
    table = pair.load("t")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)


def test_filters_of_another_client_skip_no_row_by_wrong_statistics(pair: Pair) -> None:
    """It leaves files out by the bounds in the metadata: wrong bounds would lose rows."""
    columns = "i INT, b BIGINT, d DECIMAL(20,2), f DOUBLE, s STRING, day DATE, at TIMESTAMP"
    pair.lake.create_table("t", columns)
    long = "z" * 40
    rows: list[tuple[Any, ...]] = [
        (1, -(1 << 60), Decimal("-1.50"), float("nan"), "a", dt.date(1969, 12, 31), moment(1)),
        (2, 1 << 60, Decimal("123456789012345678.99"), -0.0, long, dt.date(2030, 1, 1), moment(2)),
        (3, 0, Decimal("0.00"), 1e300, long + "1", dt.date(1, 1, 1), moment(3)),
        (None, None, None, None, None, None, None),
    ]
    for row in rows:
        pair.lake.insert("t", [row])
    check_filters(pair, len(rows))


def moment(hour: int) -> dt.datetime:
    return dt.datetime(2030, 1, 1, hour, tzinfo=dt.UTC)


def check_filters(pair: Pair, rows: int) -> None:
    def found(condition: str | BooleanExpression) -> list[int]:
        return sorted(pair.load("t").scan(row_filter=condition).to_arrow()["i"].to_pylist())

    assert found("i >= 2") == [2, 3]
    assert found(f"b = {1 << 60}") == [2]
    assert found("b < 0") == [1]
    assert found("d < 0") == [1]
    assert found("d > 1") == [2]
    assert found(And(GreaterThanOrEqual("f", 0.0), LessThan("f", 1.0))) == [2]
    assert found(EqualTo("f", 1e300)) == [3]
    assert found(IsNaN("f")) == [1]
    assert found(f"s = '{'z' * 40}'") == [2]
    assert found(f"s > '{'z' * 40}'") == [3]
    assert found("day < '1970-01-01'") == [1, 3]
    assert found("at = '2030-01-01T02:00:00+00:00'") == [2]
    assert pair.load("t").scan(row_filter="i is null").to_arrow().num_rows == 1
    assert pair.load("t").scan(row_filter="s is not null").to_arrow().num_rows == rows - 1


def test_expired_versions_are_gone_for_another_client_too(pair: Pair) -> None:
    pair.lake.create_table("t", WORDS)
    for row in (ONE, TWO, THREE):
        pair.lake.insert("t", [row])
    pair.lake.truncate("t")
    pair.lake.insert("t", [FOUR])
    for name in ("snapshot_retention", "orphan_grace"):
        pair.lake.set(name, "0s")
    pair.lake.maintain()
    pair.lake.maintain()
    table = pair.load("t")
    assert len(table.snapshots()) == 1
    assert pair.scanned("t") == read(pair.lake, "t") == bag(FOUR)
    check_metadata(table)
    pair.lake.insert("t", [ONE])
    check(pair, "t")


# -- with Spark -----------------------------------------------------------------------------------


@pytest.mark.spark
def test_rows_that_spark_wrote_read_the_same_after_every_verb(spark_pair: Pair, spark: SparkSession) -> None:
    lake = spark_pair.lake
    lake.create_table("t", WORDS)
    lake.insert("t", spark.createDataFrame([ONE, TWO, THREE], WORDS))
    check(spark_pair, "t")
    lake.update("t", {"word": "upper(word)"}, "id = 2")
    check(spark_pair, "t")
    lake.delete("t", "id = 1")
    check(spark_pair, "t")
    lake.merge("t", [(3, "drei"), FOUR], on=["id"])
    check(spark_pair, "t")
    lake.sql("INSERT INTO t SELECT id + 10, word FROM t")
    assert spark_pair.scanned("t") == bag(
        (2, "TWO"), (3, "drei"), FOUR, (12, "TWO"), (13, "drei"), (14, "four")
    )
    lake.compact("t")
    assert len(spark_pair.load("t").inspect.files()) == 1
    check(spark_pair, "t")
    lake.set("snapshot_retention", "0s")
    lake.set("orphan_grace", "0s")
    lake.maintain()
    lake.maintain()
    assert len(spark_pair.load("t").snapshots()) == 1
    lake.delete("t", "id > 10")
    check(spark_pair, "t")
    assert spark_pair.scanned("t") == bag((2, "TWO"), (3, "drei"), FOUR)


@pytest.mark.spark
def test_statistics_of_files_that_spark_wrote_lose_no_row_either(
    spark_pair: Pair, spark: SparkSession
) -> None:
    lake = spark_pair.lake
    lake.create_table("t", "i INT, b BIGINT, d DECIMAL(20,2), f DOUBLE, s STRING, day DATE, at TIMESTAMP")
    frame = spark.sql(
        """
        SELECT * FROM VALUES
          (1, -1152921504606846976, -1.50BD, double('NaN'), 'a', DATE'1969-12-31',
           TIMESTAMP'2030-01-01 01:00:00Z'),
          (2, 1152921504606846976, 123456789012345678.99BD, -0.0D, repeat('z', 40), DATE'2030-01-01',
           TIMESTAMP'2030-01-01 02:00:00Z'),
          (3, 0, 0.00BD, 1e300D, repeat('z', 40) || '1', DATE'0001-01-01', TIMESTAMP'2030-01-01 03:00:00Z'),
          (NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS v(i, b, d, f, s, day, at)
        """
    )
    lake.insert("t", frame.repartition(4, "i"))
    check_filters(spark_pair, 4)
    lake.update("t", {"i": "i"}, "i > 0")
    check_filters(spark_pair, 4)
