"""Any past commit can be read again, and a pinned one stays readable while it is held."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

import anabranch as ab
from anabranch.errors import InvalidLsn, UnknownTable, VersionExpired
from anabranch.ledger import tables
from tests.consistency.bags import Bag, bag, bag_of, changes, check_history, read, version_at

pytestmark = pytest.mark.slow_on("postgres")

NOT_AN_LSN = [-1, 6, 10**30, True, False, "1", 1.0, b"1"]


@pytest.fixture
def history(both: ab.Lake) -> ab.Lake:
    """Five commits: t is created and filled at 1, grows at 2, shrinks at 3, is dropped and made anew."""
    with both.transaction() as tx:
        tx.create_table("t", "n INT")
        tx.create_table("u", "n INT")
        tx.insert("t", [(1,)])
    both.insert("t", [(2,)])
    with both.transaction() as tx:
        tx.truncate("t")
        tx.insert("t", [(3,)])
    both.drop_table("t")
    with both.transaction() as tx:
        tx.create_table("t", "word STRING, n INT")
        tx.insert("t", [("new", 5)])
    return both


AT: dict[int, Bag] = {1: bag((1,)), 2: bag((1,), (2,)), 3: bag((3,)), 5: bag(("new", 5))}


# -- as_of ----------------------------------------------------------------------------------------


def test_every_lsn_shows_what_was_committed_by_then(history: ab.Lake, other: ab.Lake) -> None:
    for lake in (history, other):
        for lsn, rows in AT.items():
            assert read(lake, "t", as_of=lsn) == rows
            with lake.snapshot(as_of=lsn) as snapshot:
                assert snapshot.lsn == lsn
                assert snapshot.tables() == ["t", "u"]
        assert read(lake, "t") == AT[5]


@pytest.mark.parametrize("lsn", [0, 4])
def test_a_table_is_unknown_before_it_was_created_and_after_it_was_dropped(
    history: ab.Lake, lsn: int
) -> None:
    with pytest.raises(UnknownTable) as unknown:
        history.arrow("t", as_of=lsn)
    assert str(lsn) in unknown.value.message
    with history.snapshot(as_of=lsn) as snapshot:
        assert "t" not in snapshot.tables()
        with pytest.raises(UnknownTable):
            snapshot.arrow("t")


def test_a_table_made_anew_under_the_same_name_has_a_history_of_its_own(history: ab.Lake) -> None:
    old, new = version_at(history, "t", 3), version_at(history, "t", 5)
    assert old.table_id != new.table_id
    assert old.schema.names == ("n",)
    assert new.schema.names == ("word", "n")
    assert changes(history, version_at(history, "t", 1), old) == Bag({(1,): -1, (3,): 1})
    assert check_history(history, "t") == [1, 2, 3, 5]


@pytest.mark.parametrize("lsn", NOT_AN_LSN)
def test_what_is_no_lsn_of_this_lake_is_refused(history: ab.Lake, lsn: Any) -> None:
    for ask in (history.arrow, history.table):
        with pytest.raises(InvalidLsn) as refusal:
            ask("t", as_of=lsn)
        assert refusal.value.code == "AB112"
    with pytest.raises(InvalidLsn):
        history.snapshot(as_of=lsn)
    assert pins(history) == []


@pytest.mark.parametrize("lsn", NOT_AN_LSN)
def test_changes_take_only_lsns_of_this_lake(history: ab.Lake, lsn: Any) -> None:
    with pytest.raises(InvalidLsn):
        history.changes("u", lsn)
    with pytest.raises(InvalidLsn):
        history.changes("u", 1, lsn)


def test_changes_that_end_before_they_begin_are_refused(history: ab.Lake) -> None:
    with pytest.raises(InvalidLsn):
        history.changes("u", 3, 2)


@pytest.mark.parametrize("until", [0, 4])
def test_changes_up_to_an_lsn_without_the_table_are_refused(history: ab.Lake, until: int) -> None:
    with pytest.raises(UnknownTable):
        history.changes("t", 0, until)


@pytest.mark.spark
def test_changes_between_any_two_lsns_lead_from_one_to_the_other(spark_lake: ab.Lake) -> None:
    lake = spark_lake
    lake.create_table("t", "id INT, word STRING")
    lake.insert("t", [(1, "one"), (2, "two")])
    lake.update("t", {"word": "upper(word)"}, "id = 2")
    with lake.transaction() as tx:
        tx.delete("t", "id = 1")
        tx.insert("t", [(3, "three"), (3, "three")])
    lake.truncate("t")

    def asked(since: int, until: int | None = None) -> Bag:
        rows = lake.changes("t", since, until).select("id", "word", "_weight").collect()
        return Bag({(row.id, row.word): row._weight for row in rows})

    assert asked(2, 2) == bag()
    assert asked(0, 2) == bag((1, "one"), (2, "two"))
    assert asked(2, 3) == Bag({(2, "two"): -1, (2, "TWO"): 1})
    assert asked(2, 4) == Bag({(1, "one"): -1, (2, "two"): -1, (2, "TWO"): 1, (3, "three"): 2})
    assert asked(0) == bag()
    assert asked(3) == Bag({(1, "one"): -1, (2, "TWO"): -1})
    people = lake.changes("t", 3, 4, change_type=True).select("_change_type", "id").collect()
    assert sorted(map(tuple, people)) == [("delete", 1), ("insert", 3), ("insert", 3)]
    check_history(lake, "t")

    lake.drop_table("t")
    lake.create_table("t", "n INT")
    lake.insert("t", [(7,)])
    fresh = lake.changes("t", 3)
    assert [tuple(row) for row in fresh.select("n", "_weight").collect()] == [(7, 1)]


# -- snapshots ------------------------------------------------------------------------------------


def pins(lake: ab.Lake) -> list[int]:
    with lake._context.catalog.database.begin_read() as connection:
        return sorted(connection.scalars(select(tables.pins.c.lsn)))


def test_a_snapshot_stays_where_it_is_while_others_write(history: ab.Lake, other: ab.Lake) -> None:
    with history.snapshot() as snapshot:
        assert snapshot.lsn == 5
        other.insert("t", [("later", 6)])
        other.create_table("v", "n INT")
        other.drop_table("u")
        assert snapshot.lsn == 5
        assert snapshot.tables() == ["t", "u"]
        assert bag_of(snapshot.arrow("t")) == AT[5]
        assert snapshot.arrow("u").num_rows == 0
        with pytest.raises(UnknownTable):
            snapshot.arrow("v")
        other.drop_table("t")
        assert snapshot.arrow("t").num_rows == 1
    assert history.lsn == 9


def test_a_snapshot_pins_its_lsn_until_it_is_closed(history: ab.Lake, other: ab.Lake) -> None:
    assert pins(history) == []
    first, second = history.snapshot(), other.snapshot(as_of=2)
    assert pins(history) == [2, 5]
    first.close()
    first.close()
    assert pins(history) == [2]
    with second:
        pass
    assert pins(history) == []


def test_a_snapshot_that_is_closed_cannot_be_read(history: ab.Lake) -> None:
    with history.snapshot() as snapshot:
        pass
    for ask in (
        lambda: snapshot.arrow("t"),
        lambda: snapshot.table("t"),
        lambda: snapshot.sql("SELECT n FROM t"),
    ):
        with pytest.raises(VersionExpired):
            ask()


def test_what_a_snapshot_pins_survives_maintenance_and_what_nobody_needs_goes(
    history: ab.Lake, other: ab.Lake
) -> None:
    for lake in (history, other):
        lake.set("snapshot_retention", "0s")
    with other.snapshot(as_of=2) as snapshot:
        history.insert("t", [("later", 6)])
        assert history.maintain().floor_lsn == 2
        assert bag_of(snapshot.arrow("t")) == AT[2]
        with pytest.raises(VersionExpired):
            history.arrow("t", as_of=1)
        with pytest.raises(VersionExpired):
            history.snapshot(as_of=1)
        assert read(history, "t", as_of=3) == AT[3]
    assert history.maintain().floor_lsn == 6
    with pytest.raises(VersionExpired):
        history.arrow("t", as_of=3)
    assert read(history, "t", as_of=6) == bag(("new", 5), ("later", 6))


@pytest.mark.spark
def test_queries_over_one_snapshot_agree_while_others_write(spark_lake: ab.Lake) -> None:
    lake = spark_lake
    for table in ("a", "b"):
        lake.create_table(table, "n INT")
        lake.insert(table, [(1,)])
    with lake.snapshot() as snapshot:
        for table in ("a", "b"):
            lake.insert(table, [(2,)])
        lake.truncate("a")
        query = "SELECT (SELECT sum(n) FROM a) AS a, (SELECT sum(n) FROM b) AS b"
        assert tuple(snapshot.sql(query).first()) == (1, 1)
        assert snapshot.table("a").count() == 1
        assert tuple(lake.sql(query).first()) == (None, 3)
    assert [row.n for row in lake.table("a", as_of=snapshot.lsn).collect()] == [1]
