"""Rows that are marked as gone, read and written by Spark."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import anabranch as ab
from anabranch.connection.scan_files import scan_files as open_files
from anabranch.engine.spark import scan_files
from anabranch.iceberg.position_deletes import write_delete_file
from anabranch.refresh.verify import Verified
from tests.consistency.bags import bag_of, check_history, version_at
from tests.position_deletes.forced import delete_files, elsewhere, live_files, marked, marking_always

pytestmark = pytest.mark.spark
ROWS = 400


@pytest.fixture
def lake(tmp_path: Path, spark: SparkSession) -> Iterator[ab.Lake]:
    """A lake whose location Spark spells in its own way, and in which Spark does all the work."""
    place = tmp_path / "a b+ü'(~);=&$,@!"
    with ab.connect(place, spark=spark, driver_rewrite_bytes=0) as opened, marking_always():
        opened.create_table("t", "id BIGINT, word STRING, tags ARRAY<STRING>, facts MAP<STRING, INT>")
        for half in np.split(np.arange(ROWS), 2):
            opened.insert("t", [row(int(number)) for number in half])
        yield opened


def row(number: int, word: str | None = None) -> dict[str, object]:
    return {
        "id": number,
        "word": word or f"w{number % 7}",
        "tags": [str(number), None],
        "facts": {"n": number, "none": None},
    }


def agree(lake: ab.Lake, name: str = "t") -> Counter[tuple[object, ...]]:
    """A table's ids and words, if Spark, Arrow and pyiceberg see the same rows."""
    columns = ["id", "word"]
    held = bag_of(lake.arrow(name).select(columns))
    assert held == bag_of(elsewhere(lake, name).select(columns))
    assert held == Counter(tuple(found) for found in lake.table(name).select(*columns).collect())
    assert lake.table(name).count() == held.total()
    assert {info.name: info.rows for info in lake.tables()}[name] == held.total()
    return held


def test_updates_deletes_and_merges_mark_rows_and_spark_leaves_them_out(lake):
    since = lake.lsn
    lake.delete("t", "id % 50 = 0")
    lake.update("t", {"word": "'new'"}, "id % 50 = 1")
    lake.update("t", {"word": "'newer'"}, "id % 50 = 1 OR id % 50 = 0")
    lake.merge("t", [row(2, "two"), row(1000, "far")], on=["id"])
    held = agree(lake)
    assert marked(lake, "t") == 8 + 8 + 8 + 1
    assert len(delete_files(lake, "t")) == 1
    expected = Counter({(number, f"w{number % 7}"): 1 for number in range(ROWS) if number % 50 > 1})
    expected += Counter({(number, "newer"): 1 for number in range(ROWS) if number % 50 == 1})
    expected -= Counter({(2, "w2"): 1})
    expected += Counter({(2, "two"): 1, (1000, "far"): 1})
    assert held == expected
    weights = [found["_weight"] for found in lake.changes("t", since).collect()]
    assert (weights.count(1), weights.count(-1)) == (8 + 2, 16 + 1)
    assert lake.table("t", as_of=since).count() == ROWS
    lake.compact("t")
    assert marked(lake, "t") == 0
    assert agree(lake) == held
    assert lake.changes("t", since).count() == len(weights)


def test_what_is_read_of_a_table_with_marks_is_read_by_position(lake):
    lake.delete("t", "id IN (3, 205)")
    found = lake.sql(
        "SELECT tags, facts, id FROM t WHERE id BETWEEN 2 AND 4 OR id BETWEEN 204 AND 206 ORDER BY id"
    )
    assert [(one.id, one.tags[0], one.facts["n"]) for one in found.collect()] == [
        (number, str(number), number) for number in (2, 4, 204, 206)
    ]
    assert lake.sql("SELECT count(*) AS n FROM t").first().n == ROWS - 2


def test_a_truncation_after_marks_removes_what_was_left(lake):
    lake.delete("t", "id < 100")
    since = lake.lsn
    lake.truncate("t")
    found = lake.changes("t", since).collect()
    assert {one["id"] for one in found} == set(range(100, ROWS))
    assert {one["_weight"] for one in found} == {-1}


@pytest.mark.rotating(2)
@pytest.mark.parametrize("mode", ["differential", "immediate"])
def test_a_stream_table_over_marks_marks_its_own_rows(lake, mode):
    lake.create_stream_table("s", "SELECT id, word, tags FROM t WHERE id % 2 = 0", refresh_mode=mode)
    first = {file.path for file in live_files(lake, "s")}
    for number in (2, 4):
        lake.update("t", {"word": f"'v{number}'"}, f"id % 100 = {number} OR id = 6")
        lake.delete("t", f"id = {number + 100}")
        if mode == "differential":
            lake.refresh_stream_table("s")
        assert lake.verify("s") == Verified(0, 0)
        agree(lake, "s")
    assert marked(lake, "s") > 0
    assert first <= {file.path for file in live_files(lake, "s")}


@pytest.mark.slow
def test_a_large_table_is_marked_without_being_forced(place, spark):
    ids = np.arange(1_000_000)
    with ab.connect(place, spark=spark) as lake:
        lake.create_table("t", "id BIGINT, word STRING, x DOUBLE")
        rows = pa.table({"id": ids, "word": pa.array(ids).cast(pa.string()), "x": np.sin(ids)})
        lake.insert("t", rows)
        (before,) = live_files(lake, "t")
        lake.update("t", {"word": "'new'"}, "id % 1000 = 7")
        assert {file.path: file.marked for file in live_files(lake, "t")}[before.path] == ids.size // 1000
        assert lake.sql("SELECT count(*) AS n FROM t WHERE word = 'new'").first().n == ids.size // 1000
        assert lake.table("t").count() == ids.size
        lake.update("t", {"word": "'newer'"}, "id % 1000 < 60")
        assert marked(lake, "t") == 0
        assert lake.table("t").count() == ids.size
        check_history(lake, "t", neighbours=True)


def test_many_deleted_positions_are_joined_and_of_very_many_spark_reads_the_delete_files(lake, monkeypatch):
    lake.delete("t", "id % 50 = 0")
    before = agree(lake)
    assert "LeftAnti" not in shown_plan(lake.table("t"))
    for limits in ({"MAX_WORDS": 0}, {"MAX_WORDS": 0, "SENT_DELETES": 0}):
        lake._context.engine.stop()  # the session is not its own: it forgets what it has handed over
        for name, limit in limits.items():
            monkeypatch.setattr(scan_files, name, limit)
        assert agree(lake) == before
        assert "LeftAnti" in shown_plan(lake.table("t"))


def test_files_with_marks_and_without_are_read_by_one_scan(lake):
    """A union of two would make Spark read what an EXISTS asks for once for each of them."""
    lake.create_table("u", "id BIGINT")
    lake.insert("u", [{"id": 1}, {"id": 205}])
    lake.delete("t", "id IN (3, 4)")
    assert {bool(file.marked) for file in live_files(lake, "t")} == {True, False}
    text = "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)"
    assert {one.id for one in lake.sql(text).collect()} == {1, 205}
    # A frame that has run may show two plans, the one that Spark began with and the one that it ended with.
    assert shown_plan(lake.sql(text)).count("FileScan") == 2


def test_files_without_marks_are_read_apart_if_they_are_many(lake, monkeypatch):
    lake.delete("t", "id IN (3, 4)")
    before = agree(lake)
    assert shown_plan(lake.table("t")).count("FileScan") == 1
    monkeypatch.setattr(scan_files, "SCANNED_TOGETHER", 0)
    assert agree(lake) == before
    assert shown_plan(lake.table("t")).count("FileScan") == 2


def shown_plan(frame: DataFrame) -> str:
    """Spark's physical plan of a frame."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        frame.explain()
    return shown.getvalue()


def test_every_version_keeps_the_deletes_that_it_had(lake):
    wanted = {lake.lsn: set(range(ROWS))}
    for number in (5, 205, 7):
        lake.delete("t", f"id % 200 = {number % 200}")
        wanted[lake.lsn] = {one for one in wanted[max(wanted)] if one % 200 != number % 200}
    lake.insert("t", [row(1000)])
    wanted[lake.lsn] = wanted[max(wanted)] | {1000}
    for lsn, ids in wanted.items():
        assert {one.id for one in lake.table("t", as_of=lsn).collect()} == ids
    since, until = min(wanted), max(wanted)
    net = {(one.id, one["_weight"]) for one in lake.changes("t", since).collect()}
    assert net == {(one, -1) for one in wanted[since] - wanted[until]} | {(1000, 1)}


def test_a_file_is_read_with_each_of_its_sets_of_deletes(lake):
    """As a change asks for it: the same file with more and more deletes, and once without any."""
    context, schema = lake._context, version_at(lake, "t", lake.lsn).schema
    seen = [min(live_files(lake, "t"), key=lambda file: file.path)]
    for number in (0, 1):
        lake.delete("t", f"id % 100 = {number}")
        seen.append(next(file for file in live_files(lake, "t") if file.path == seen[0].path))
    assert [file.marked for file in seen] == [0, 2, 4]
    rows = open_files(context, seen, schema)
    assert rows.count() == 200 + 198 + 196
    where = open_files(context, seen, schema, positions=True)
    assert Counter(one["__file"] is None for one in where.collect()) == {False: 594}


@pytest.mark.parametrize(
    "limits",
    [{}, {"MAX_WORDS": 0}, {"MAX_WORDS": 0, "SENT_DELETES": 0}],
    ids=["bits", "rows", "read by Spark"],
)
def test_data_files_may_have_several_delete_files(lake, monkeypatch, limits):
    """One has two delete files, two have one, one has none; some deletes stand twice, some nowhere."""
    for number in (1000, 1001):
        lake.insert("t", [row(number), row(number + 10)])
    for name, limit in limits.items():
        monkeypatch.setattr(scan_files, name, limit)
    context = lake._context
    files = sorted(live_files(lake, "t"), key=lambda file: -file.rows)
    first, second, third = (file.path for file in files[:3])
    folder = first.rpartition("/")[0]
    listed = [
        {first: [0, 1], second: [199]},
        {first: [1, 5], third: [0], f"{folder}/not-there.parquet": [0, 2, 3]},
    ]
    deletes = [
        write_delete_file(context.warehouse, {k: np.array(v) for k, v in one.items()}, f"{folder}/d{i}").path
        for i, one in enumerate(listed)
    ]
    kinds = [tuple(deletes), tuple(deletes[:1]), tuple(deletes[1:]), ()]
    asked = [replace(file, deletes=kind) for file, kind in zip(files, kinds, strict=True)]
    schema = version_at(lake, "t", lake.lsn).schema
    found = Counter(one.id for one in open_files(context, asked, schema).collect())
    held = [[one.id for one in open_files(context, [file], schema).collect()] for file in files]
    gone = [{0, 1, 5}, {199}, {0}, set()]
    expected = [
        value
        for ids, places in zip(held, gone, strict=True)
        for place, value in enumerate(ids)
        if place not in places
    ]
    assert found == Counter(expected)
