"""Rows that are marked as gone are gone: for every reader, at every version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import ManifestContent

import anabranch as ab
from anabranch.commit.stage_metadata import MANIFESTS_BEFORE_MERGE
from anabranch.errors import Damaged, WriteConflict
from anabranch.failpoints import FailpointReached, Failpoints
from anabranch.refresh.verify import Verified
from anabranch.write import delete_strategy
from anabranch.write.autocommit import Written
from tests.consistency.bags import bag_of, check_history
from tests.crash.reachable import survey
from tests.engines.lakes import duck_lake
from tests.position_deletes.forced import (
    ALWAYS,
    delete_files,
    elsewhere,
    live_files,
    marked,
    marking_always,
    static,
    stored,
)

ROWS = 300


@pytest.fixture
def lake(place: Path, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """A table with one file of 300 rows, whose rows are marked when they go."""
    with duck_lake(place, clock=clock) as opened, marking_always():
        fill(opened)
        yield opened


def fill(lake: ab.Lake) -> None:
    ids = np.arange(ROWS)
    lake.create_table("t", "id BIGINT, word STRING")
    lake.insert("t", pa.table({"id": ids, "word": [f"w{number % 7}" for number in ids]}))


def ids(lake: ab.Lake, as_of: int | None = None) -> set[int]:
    return set(lake.arrow("t", as_of=as_of)["id"].to_pylist())


def agree(lake: ab.Lake, name: str = "t") -> Counter[tuple[object, ...]]:
    """A table's rows, if we, the engine and pyiceberg see the same, and count them alike."""
    held = bag_of(lake.arrow(name))
    other = elsewhere(lake, name)
    assert held == bag_of(other) == bag_of(lake.table(name).toArrow())
    assert static(lake, name).scan().count() == held.total()
    assert {info.name: info.rows for info in lake.tables()}[name] == held.total()
    return held


# -- writing --------------------------------------------------------------------------------------


def test_rows_that_go_are_marked_and_their_file_stays(lake):
    (before,) = live_files(lake, "t")
    assert lake.delete("t", "id IN (3, 33)") == Written(3, deleted=2)
    (after,) = live_files(lake, "t")
    assert (after.path, after.rows, after.marked) == (before.path, ROWS - 2, 2)
    assert agree(lake).total() == ROWS - 2
    assert ids(lake) == set(range(ROWS)) - {3, 33}


def test_an_update_marks_the_old_row_and_adds_the_new_one(lake):
    written = lake.update("t", {"word": "'new'"}, "id = 5")
    assert (written.inserted, written.deleted) == (1, 1)
    assert sorted((file.rows, file.marked) for file in live_files(lake, "t")) == [(1, 0), (ROWS - 1, 1)]
    assert agree(lake)[(5, "new")] == 1


def test_a_merge_updates_deletes_and_inserts(lake):
    rows = [
        {"id": 1, "word": "one", "gone": False},
        {"id": 2, "word": None, "gone": True},
        {"id": 900, "word": "far", "gone": False},
    ]
    lake.merge("t", rows, on=["id"], delete_when="gone")
    held = agree(lake)
    assert held[(1, "one")] == held[(900, "far")] == 1
    assert 2 not in ids(lake)
    assert marked(lake, "t") == 2


def test_marks_again_and_again_are_in_one_delete_file(lake):
    times = MANIFESTS_BEFORE_MERGE + 2
    for number in range(times):
        lake.update("t", {"word": f"'v{number}'"}, f"id % {times} = {number}")
        assert len(delete_files(lake, "t")) == 1
        snapshot = static(lake, "t").current_snapshot()
        manifests = snapshot.manifests(lake._context.warehouse.io)
        assert sum(manifest.content == ManifestContent.DELETES for manifest in manifests) == 1
        assert snapshot.summary["total-delete-files"] == "1"
    assert agree(lake) == Counter({(number, f"v{number % times}"): 1 for number in range(ROWS)})
    check_history(lake, "t", neighbours=True)


def test_a_row_that_was_marked_is_not_found_again(lake):
    lake.delete("t", "id = 7")
    assert lake.delete("t", "id = 7").lsn is None
    assert lake.update("t", {"word": "'x'"}, "id = 7").lsn is None
    assert lake.merge("t", [{"id": 7, "word": "back"}], on=["id"]) == Written(4, inserted=1)
    assert agree(lake)[(7, "back")] == 1


def test_several_verbs_of_one_transaction_see_each_others_marks(lake):
    with lake.transaction() as tx:
        tx.delete("t", "id < 10")
        assert tx.sql("SELECT count(*) AS n FROM t").collect()[0].n == ROWS - 10
        tx.update("t", {"word": "'twice'"}, "id < 12")
        tx.delete("t", "id = 11")
    held = agree(lake)
    assert held[(10, "twice")] == 1
    assert ids(lake) == set(range(10, ROWS)) - {11}
    check_history(lake, "t")


def test_a_file_that_was_written_in_the_same_transaction_is_rewritten(lake):
    with lake.transaction() as tx:
        tx.create_table("u", "id BIGINT")
        tx.insert("u", [(number,) for number in range(10)])
        tx.delete("u", "id = 4")
    assert marked(lake, "u") == 0
    assert agree(lake, "u").total() == 9


def test_a_file_with_too_many_marks_is_rewritten(place, clock):
    limits = delete_strategy.Limits(rewritten_bytes=0, small_file_bytes=0, marked_share=0.1)
    with duck_lake(place, clock=clock) as lake, marking_always(limits):
        fill(lake)
        (first,) = live_files(lake, "t")
        lake.delete("t", f"id < {ROWS // 10}")
        assert marked(lake, "t") == ROWS // 10
        lake.delete("t", f"id = {ROWS // 10}")
        assert marked(lake, "t") == 0
        assert delete_files(lake, "t") == set()
        assert first.path not in {file.path for file in live_files(lake, "t")}
        assert agree(lake).total() == ROWS - ROWS // 10 - 1
        snapshot = static(lake, "t").current_snapshot()
        assert snapshot.summary["total-delete-files"] == snapshot.summary["total-position-deletes"] == "0"
        check_history(lake, "t")


def test_the_small_files_that_updates_leave_behind_stay_few(place, clock):
    limits = delete_strategy.Limits(rewritten_bytes=0, small_file_bytes=1100, small_files=4, marked_share=1)
    with duck_lake(place, clock=clock) as lake, marking_always(limits):
        fill(lake)
        (large,) = live_files(lake, "t")
        assert large.size > limits.small_file_bytes
        for number in range(20):
            lake.update("t", {"word": "'u'"}, f"id = {number}")
            assert len(live_files(lake, "t")) <= limits.small_files + 1
        assert agree(lake).total() == ROWS
        check_history(lake, "t")


def test_a_small_table_keeps_being_rewritten(place, clock):
    with duck_lake(place, clock=clock) as lake:
        fill(lake)
        lake.delete("t", "id = 1")
        assert marked(lake, "t") == 0


# -- readers --------------------------------------------------------------------------------------


def test_every_version_is_read_as_it_was(lake):
    gone: dict[int, set[int]] = {lake.lsn: set()}
    for number in range(6):
        lake.delete("t", f"id % 50 = {number}")
        gone[lake.lsn] = {other for other in range(ROWS) if other % 50 <= number}
    for lsn, missing in gone.items():
        assert ids(lake, lsn) == set(range(ROWS)) - missing
        assert set(elsewhere(lake, "t", lsn)["id"].to_pylist()) == set(range(ROWS)) - missing
    check_history(lake, "t")


def test_changes_say_what_was_marked(lake):
    since = lake.lsn
    lake.update("t", {"word": "'new'"}, "id = 1")
    lake.delete("t", "id = 2")
    found = {tuple(row) for row in lake.changes("t", since).collect()}
    assert found == {(1, "w1", -1), (1, "new", 1), (2, "w2", -1)}
    assert len(lake.changes("t", 1).collect()) == ROWS - 1


def test_the_first_rows_are_those_that_are_left(lake):
    lake.delete("t", "id < 250")
    assert [row[0] for row in lake.preview("t", limit=3).rows] == [250, 251, 252]


def test_truncating_removes_only_what_was_left(lake):
    lake.delete("t", "id < 100")
    since = lake.lsn
    assert lake.truncate("t").deleted == ROWS - 100
    assert len(lake.changes("t", since).collect()) == ROWS - 100
    assert agree(lake).total() == 0
    assert delete_files(lake, "t") == set()
    check_history(lake, "t")


def test_marking_and_truncating_in_one_transaction(lake):
    with lake.transaction() as tx:
        tx.delete("t", "id < 100")
        assert tx.truncate("t").deleted == ROWS - 100
        tx.insert("t", [(1, "again")])
    assert agree(lake) == Counter({(1, "again"): 1})
    check_history(lake, "t")


def test_an_append_keeps_the_marks(lake):
    lake.delete("t", "id < 100")
    lake.insert("t", [(1, "again")])
    assert agree(lake).total() == ROWS - 99
    check_history(lake, "t")


def test_a_table_that_is_dropped_takes_its_marks_along(lake, clock):
    lake.delete("t", "id = 1")
    kept = lake.lsn
    lake.drop_table("t")
    lake.create_table("t", "id BIGINT, word STRING")
    assert ids(lake) == set()
    assert ids(lake, kept) == set(range(ROWS)) - {1}


# -- stream tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["differential", "immediate"])
def test_a_stream_table_follows_marks_with_marks_of_its_own(lake, mode):
    lake.create_stream_table("even", "SELECT id, word FROM t WHERE id % 2 = 0", refresh_mode=mode)
    lake.create_stream_table("words", "SELECT word, count(*) AS n FROM t GROUP BY word", refresh_mode=mode)
    for number in range(1, 6):
        lake.update("t", {"word": f"'v{number}'"}, f"id % 60 = {number}")
        lake.delete("t", f"id = {number * 10}")
        if mode == "differential":
            lake.refresh_stream_table("even")
            lake.refresh_stream_table("words")
        for name in ("even", "words"):
            assert lake.verify(name) == Verified(0, 0)
            agree(lake, name)
    assert marked(lake, "even") > 0
    check_history(lake, "even")
    check_history(lake, "words")


def test_a_stream_table_of_many_rows_is_searched_by_the_engine(place, clock):
    with duck_lake(place, clock=clock, driver_rewrite_bytes=0) as lake, marking_always():
        fill(lake)
        lake.create_stream_table(
            "even", "SELECT id, word FROM t WHERE id % 2 = 0", refresh_mode="differential"
        )
        for number in range(4):
            lake.update("t", {"word": f"'v{number}'"}, f"id % 60 = {number}")
            lake.refresh_stream_table("even")
            assert lake.verify("even") == Verified(0, 0)
        assert marked(lake, "even") > 0
        check_history(lake, "even")


# -- upkeep ---------------------------------------------------------------------------------------


def test_compaction_rewrites_files_without_what_was_marked(lake):
    lake.update("t", {"word": "'new'"}, "id < 50")
    held, since = agree(lake), lake.lsn
    lake.compact("t")
    assert marked(lake, "t") == 0
    assert delete_files(lake, "t") == set()
    assert len(live_files(lake, "t")) == 1
    assert agree(lake) == held
    assert lake.changes("t", since).collect() == []
    check_history(lake, "t")


def test_one_file_with_marks_is_worth_compacting_and_one_without_is_not(lake):
    lake.delete("t", "id = 1")
    assert lake.compact("t").lsn is not None
    assert lake.compact("t").lsn is None


def test_marks_are_kept_as_long_as_a_version_needs_them(place, clock):
    kept = {"snapshot_retention": "1h", "orphan_grace": "1m"}
    with duck_lake(place, clock=clock, **kept) as lake, marking_always():
        fill(lake)
        for number in range(4):
            lake.delete("t", f"id = {number}")
            clock.advance(60)
        lake.compact("t")
        assert len(stored(place)) == 4
        for _ in range(2):
            lake.maintain()
            clock.advance(120)
        assert len(stored(place)) == 4
        check_history(lake, "t")
        clock.advance(7200)
        for _ in range(3):
            lake.maintain()
            clock.advance(120)
        assert stored(place) == set()
        assert agree(lake).total() == ROWS - 4
        found = survey(place, None)
        assert (found.unneeded, found.missing) == (set(), set())


def test_a_change_that_needs_marks_keeps_them(place, clock):
    """What a truncation removed is what was left: the marks from before say what that is."""
    kept = {"snapshot_retention": "0s", "orphan_grace": "0s"}
    with duck_lake(place, clock=clock, **kept) as lake, marking_always():
        fill(lake)
        lake.delete("t", "id < 100")
        since = lake.lsn
        with lake.snapshot(as_of=since):
            lake.truncate("t")
            for _ in range(2):
                lake.maintain()
            assert len(lake.changes("t", since).collect()) == ROWS - 100
        for _ in range(2):
            lake.maintain()


def test_history_that_expired_before_marks_is_not_missed(place, clock):
    kept = {"snapshot_retention": "0s", "orphan_grace": "0s"}
    with duck_lake(place, clock=clock, **kept) as lake, marking_always():
        fill(lake)
        for number in range(5):
            lake.delete("t", f"id = {number}")
        for _ in range(2):
            lake.maintain()
        assert agree(lake).total() == ROWS - 5
        lake.create_stream_table("s", "SELECT id FROM t", refresh_mode="differential")
        assert lake.verify("s") == Verified(0, 0)
        assert survey(place, None).missing == set()


# -- trouble --------------------------------------------------------------------------------------


def test_a_write_that_dies_leaves_nothing_visible_and_is_swept(place, clock):
    with duck_lake(place, clock=clock) as lake, marking_always():
        fill(lake)
    with (
        duck_lake(place, clock=clock, failpoints=Failpoints.from_text("commit.before_commit=raise")) as lake,
        marking_always(),
        pytest.raises(FailpointReached),
    ):
        lake.delete("t", "id = 1")
    assert len(stored(place)) == 1
    kept = {"snapshot_retention": "0s", "orphan_grace": "0s"}
    with duck_lake(place, clock=clock, **kept) as lake, marking_always():
        assert agree(lake).total() == ROWS
        for _ in range(2):
            lake.maintain()
        assert stored(place) == set()
        lake.delete("t", "id = 1")
        assert agree(lake).total() == ROWS - 1


def test_two_who_mark_at_once_don_t_lose_each_others_marks(place, clock, lake):
    with duck_lake(place, clock=clock) as other:
        mine = lake.transaction()
        mine.delete("t", "id = 1")
        other.delete("t", "id = 2")
        with pytest.raises(WriteConflict):
            mine.commit()
    lake.delete("t", "id = 1")
    assert ids(lake) == set(range(ROWS)) - {1, 2}
    agree(lake)


def test_an_append_that_was_overtaken_by_marks_follows_them(place, clock, lake):
    with duck_lake(place, clock=clock) as other:
        mine = lake.transaction()
        mine.insert("t", [(1000, "late")])
        other.delete("t", "id = 2")
        mine.commit()
    assert ids(lake) == (set(range(ROWS)) - {2}) | {1000}
    agree(lake)
    check_history(lake, "t")


@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
def test_a_broken_delete_file_is_damage_and_brings_no_row_back(place, clock, damage):
    with duck_lake(place, clock=clock) as lake, marking_always():
        fill(lake)
        lake.delete("t", "id = 1")
        lake.arrow("t")
        (path,) = (Path(uri.removeprefix("file://")) for uri in delete_files(lake, "t"))
        content = path.read_bytes()
        path.unlink()
        if damage != "missing":
            path.write_bytes(b"" if damage == "empty" else content[: len(content) // 2])
        # Both where its marks were counted before and where they weren't.
        with pytest.raises(Damaged):
            lake.arrow("t")
        if damage != "cut":
            with pytest.raises(Damaged):
                lake.table("t")
    with duck_lake(place, clock=clock) as lake, pytest.raises(Damaged):
        lake.table("t")


def test_a_mark_beyond_the_end_of_its_file_is_damage(place, clock, lake):
    lake.delete("t", "id = 1")
    (path,) = (Path(uri.removeprefix("file://")) for uri in delete_files(lake, "t"))
    marks = pq.read_table(path)
    pq.write_table(marks.set_column(1, marks.schema.field(1), [pa.array([ROWS])]), path)
    with duck_lake(place, clock=clock) as again, pytest.raises(Damaged, match="never were"):
        again.arrow("t")


def test_the_delete_file_is_as_iceberg_wants_it(lake):
    lake.insert("t", [(number, "more") for number in range(1000, 1010)])
    lake.delete("t", "id IN (5, 3, 1004, 1001)")
    (path,) = (Path(uri.removeprefix("file://")) for uri in delete_files(lake, "t"))
    marks = pq.read_table(path)
    assert [field.metadata[b"PARQUET:field_id"] for field in marks.schema] == [b"2147483546", b"2147483545"]
    assert not any(field.nullable for field in marks.schema)
    rows = [tuple(row.values()) for row in marks.to_pylist()]
    assert rows == sorted(rows)
    assert {file for file, _ in rows} == {file.path for file in live_files(lake, "t")}
    assert ALWAYS.marked_rows >= len(rows) == 4
