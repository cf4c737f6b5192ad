"""The ledger's functions, each inside a transaction of its caller's, on SQLite."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.clock import ManualClock
from anabranch.errors import UnknownTable
from anabranch.failpoints import Failpoints
from anabranch.ledger import history, leases, ledger, pins
from anabranch.ledger.database import Database
from anabranch.ledger.migrations import migrate
from anabranch.ledger.records import Fence
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.names import TableName
from anabranch.schema import Atomic, Column, Schema

ORDERS, LINES = TableName.parse("sales.orders"), TableName.parse("lines")
NARROW = Schema((Column("id", Atomic("bigint")),))
WIDE = Schema((Column("id", Atomic("bigint")), Column("v", Atomic("tinyint"), nullable=False, comment="x")))
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def connection(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/catalog.db", timeout=timedelta(seconds=1))
    migrate(database, ManualClock(), Failpoints())
    with database.begin_write() as opened:
        ledger.ensure_lake(opened, "1" * 32, "file:///lake")
        yield opened
    database.close()


def number(connection, minutes=0, attempt=None):
    """The next lsn, some minutes after noon."""
    attempt = attempt or f"attempt {ledger.read_current_lsn(connection) + 1}"
    return ledger.take_next_lsn(connection, attempt=attempt, kind="write", now=NOON + minutes * MINUTE)


def create(connection, name, table_id, schema=NARROW):
    lsn = number(connection)
    location = f"{table_id}/0"
    assert ledger.create_pointer(connection, name, location)
    ledger.add_table(
        connection,
        table_id=table_id,
        name=name,
        kind="source",
        schema=schema,
        lsn=lsn,
        metadata_location=location,
    )
    version(connection, table_id, lsn, None, 0, schema, location)
    return lsn


def version(connection, table_id, lsn, snapshot, rows, schema=NARROW, location="x"):
    ledger.add_version(
        connection,
        table_id=table_id,
        lsn=lsn,
        snapshot_id=snapshot,
        rows=rows,
        schema_id=0,
        schema=schema,
        metadata_location=location,
    )


# -- the lake and its numbers ---------------------------------------------------------------------


def test_a_lake_is_entered_once(connection):
    assert ledger.ensure_lake(connection, "2" * 32, "file:///other") == "file:///lake"
    assert ledger.read_warehouse(connection) == "file:///lake"
    assert (ledger.read_current_lsn(connection), ledger.read_floor_lsn(connection)) == (0, 0)


def test_lsns_count_up_and_remember_their_attempt(connection):
    assert [number(connection) for _ in range(3)] == [1, 2, 3]
    assert ledger.read_current_lsn(connection) == 3
    assert ledger.read_attempt_lsn(connection, "attempt 2") == 2
    assert ledger.read_attempt_lsn(connection, "attempt 4") is None


def test_commits_are_remembered_with_their_time_newest_first(connection):
    for minutes in (0, 5, 5):
        number(connection, minutes)
    commits = ledger.read_recent_commits(connection, 2)
    assert [(commit.lsn, commit.committed_at) for commit in commits] == [
        (3, NOON + 5 * MINUTE),
        (2, NOON + 5 * MINUTE),
    ]
    assert ledger.read_commit(connection, 1).committed_at == NOON
    assert ledger.read_commit(connection, 9) is None


@pytest.mark.parametrize(("minutes", "lsn"), [(-1, 0), (0, 1), (4, 1), (5, 3), (99, 3)])
def test_the_newest_lsn_before_a_time(connection, minutes, lsn):
    for at in (0, 5, 5):
        number(connection, at)
    assert ledger.read_lsn_before(connection, NOON + minutes * MINUTE) == lsn


def test_the_floor_rises_and_never_sinks(connection):
    ledger.raise_floor(connection, 5)
    ledger.raise_floor(connection, 3)
    assert ledger.read_floor_lsn(connection) == 5
    ledger.raise_floor(connection, 6)
    assert ledger.read_floor_lsn(connection) == 6


def test_forgetting_commits_keeps_those_from_the_floor_on(connection):
    for _ in range(4):
        number(connection)
    ledger.forget_commits(connection, 3)
    assert [commit.lsn for commit in ledger.read_recent_commits(connection, 9)] == [4, 3]
    assert ledger.read_attempt_lsn(connection, "attempt 2") == 2


def test_attempts_are_forgotten_by_their_age(connection):
    for at in (0, 5, 10):
        number(connection, at)
    ledger.forget_attempts(connection, NOON + 5 * MINUTE)
    found = [ledger.read_attempt_lsn(connection, f"attempt {lsn}") for lsn in (1, 2, 3)]
    assert found == [None, 2, 3]


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_times_are_stored_to_the_microsecond(moment):
    assert from_micros(to_micros(moment)) == moment


# -- tables and versions --------------------------------------------------------------------------


def test_a_table_is_seen_at_every_lsn_as_it_was_then(connection):
    create(connection, ORDERS, "a" * 32)  # lsn 1
    version(connection, "a" * 32, number(connection), 11, 5)  # lsn 2
    create(connection, LINES, "b" * 32)  # lsn 3
    version(connection, "a" * 32, number(connection), 12, 7, WIDE)  # lsn 4
    ledger.drop_table(connection, "a" * 32, number(connection))  # lsn 5

    def seen(lsn):
        versions = ledger.lake_version_at(connection, lsn).versions
        return {str(name): (v.lsn, v.snapshot_id, v.rows, len(v.schema)) for name, v in versions.items()}

    assert seen(0) == {}
    assert seen(1) == {"sales.orders": (1, None, 0, 1)}
    assert seen(2) == {"sales.orders": (2, 11, 5, 1)}
    assert seen(3) == {"sales.orders": (2, 11, 5, 1), "lines": (3, None, 0, 1)}
    assert seen(4) == {"sales.orders": (4, 12, 7, 2), "lines": (3, None, 0, 1)}
    assert seen(5) == {"lines": (3, None, 0, 1)}
    assert ledger.read_versions(connection, "a" * 32) == [(1, None), (2, 11), (4, 12)]


def test_the_newest_moment_is_the_moment_at_the_newest_lsn(connection):
    create(connection, ORDERS, "a" * 32, WIDE)
    version(connection, "a" * 32, number(connection), 11, 5, WIDE, location="a/1")
    newest = ledger.newest_lake_version(connection, ledger.read_tables(connection))
    assert newest == ledger.lake_version_at(connection, 2)
    assert newest.version(ORDERS).schema == WIDE
    assert newest.version(ORDERS).metadata_location == "a/1"


def test_an_unknown_table_is_named_with_what_was_probably_meant(connection):
    create(connection, LINES, "a" * 32)
    lake_version = ledger.lake_version_at(connection, 1)
    with pytest.raises(UnknownTable, match='did you mean "lines"'):
        lake_version.version(TableName.parse("line"))
    with pytest.raises(UnknownTable) as caught:
        lake_version.version(TableName.parse("zebra"))
    assert caught.value.hint is None


def test_a_name_can_be_used_again_after_a_drop(connection):
    create(connection, ORDERS, "a" * 32)  # lsn 1
    assert not ledger.create_pointer(connection, ORDERS, "b/0")
    assert ledger.delete_pointer(connection, ORDERS, f"{'a' * 32}/0")
    ledger.drop_table(connection, "a" * 32, number(connection))  # lsn 2
    create(connection, ORDERS, "b" * 32)  # lsn 3
    ids = [v.table_id[0] for lsn in (1, 3) for v in ledger.lake_version_at(connection, lsn).versions.values()]
    assert ids == ["a", "b"]
    assert ledger.read_dropped_tables(connection) == [("a" * 32, 2, f"{'a' * 32}/0")]
    ledger.forget_table(connection, "a" * 32)
    assert ledger.read_dropped_tables(connection) == []
    assert ledger.lake_version_at(connection, 1).versions == {}


def test_forgetting_versions_leaves_the_others(connection):
    create(connection, ORDERS, "a" * 32)
    for snapshot in (11, 12):
        version(connection, "a" * 32, number(connection), snapshot, 1)
    ledger.forget_versions(connection, "a" * 32, [1, 2])
    assert ledger.read_versions(connection, "a" * 32) == [(3, 12)]


# -- pointers -------------------------------------------------------------------------------------


def test_a_pointer_swings_only_from_where_it_is_expected(connection):
    create(connection, ORDERS, "a" * 32)
    first = f"{'a' * 32}/0"
    assert not ledger.swap_pointer(connection, ORDERS, "elsewhere", "a/1")
    assert not ledger.swap_pointer(connection, LINES, first, "a/1")
    assert ledger.swap_pointer(connection, ORDERS, first, "a/1")
    assert not ledger.swap_pointer(connection, ORDERS, first, "a/2")
    assert not ledger.delete_pointer(connection, ORDERS, first)
    assert ledger.delete_pointer(connection, ORDERS, "a/1")
    assert not ledger.delete_pointer(connection, ORDERS, "a/1")


def test_a_pointer_that_somebody_else_moved_is_noticed(connection):
    create(connection, ORDERS, "a" * 32)
    assert [record.has_foreign_commit for record in ledger.read_tables(connection)] == [False]
    assert ledger.read_foreign_pointers(connection) == []
    ledger.swap_pointer(connection, ORDERS, f"{'a' * 32}/0", "theirs/1")
    ledger.create_pointer(connection, LINES, "theirs/2")
    assert [(r.has_foreign_commit, r.pointer) for r in ledger.read_tables(connection)] == [(True, "theirs/1")]
    assert ledger.read_foreign_pointers(connection) == [("main", "lines", "theirs/2")]
    ledger.update_metadata_location(connection, "a" * 32, "theirs/1")
    assert [record.has_foreign_commit for record in ledger.read_tables(connection)] == [False]
    ledger.delete_pointer(connection, ORDERS, "theirs/1")
    assert [(r.has_foreign_commit, r.pointer) for r in ledger.read_tables(connection)] == [(True, None)]


# -- pins, leases, settings, garbage --------------------------------------------------------------


def test_the_lowest_pin_holds_until_it_is_let_go_or_runs_out(connection):
    def pin(name, lsn, minutes):
        until = None if minutes is None else NOON + minutes * MINUTE
        pins.store_pin(connection, pin=name, lsn=lsn, kind="snapshot", holder="me", expires_at=until)

    assert pins.read_lowest_pin(connection, NOON) is None
    pin("a", 3, 5)
    pin("b", 2, 1)
    pin("c", 7, None)
    assert pins.read_lowest_pin(connection, NOON) == 2
    assert pins.read_lowest_pin(connection, NOON + MINUTE) == 2
    assert pins.read_lowest_pin(connection, NOON + 2 * MINUTE) == 3
    assert pins.read_lowest_pin(connection, NOON) == 3  # what ran out is gone
    pin("a", 3, 60)
    assert pins.read_lowest_pin(connection, NOON + 10 * MINUTE) == 3
    pins.remove_pin(connection, "a")
    pins.remove_pin(connection, "a")
    assert pins.read_lowest_pin(connection, NOON + 10_000 * MINUTE) == 7


def test_a_lease_has_one_holder_and_a_term_that_grows_with_each_new_one(connection):
    def take(holder, minutes):
        now = NOON + minutes * MINUTE
        return leases.take_lease(connection, lease="tick", holder=holder, now=now, until=now + 5 * MINUTE)

    first = take("one", 0)
    assert first == Fence("tick", 1)
    assert take("two", 1) is None
    assert take("one", 4) == first
    assert take("two", 8) is None
    assert leases.is_fence_valid(connection, first)
    second = take("two", 9)
    assert second == Fence("tick", 2)
    assert not leases.is_fence_valid(connection, first)
    leases.release_lease(connection, first)  # no longer theirs
    assert take("one", 10) is None
    leases.release_lease(connection, second)
    assert take("one", 10) == Fence("tick", 3)
    assert not leases.is_fence_valid(connection, Fence("other", 1))


def test_settings_are_stored_and_stored_again(connection):
    assert ledger.read_settings(connection) == {}
    ledger.store_setting(connection, "a", "1")
    ledger.store_setting(connection, "a", "2")
    ledger.store_setting(connection, "b", "3")
    assert ledger.read_settings(connection) == {"a": "2", "b": "3"}


def test_garbage_is_marked_since_when_and_unmarked(connection):
    ledger.mark_garbage(connection, [], NOON)
    ledger.mark_garbage(connection, ["x", "y"], NOON)
    ledger.mark_garbage(connection, ["z"], NOON + MINUTE)
    assert ledger.read_garbage(connection) == {"x": NOON, "y": NOON, "z": NOON + MINUTE}
    ledger.unmark_garbage(connection, [])
    ledger.unmark_garbage(connection, ["x", "z", "nope"])
    assert ledger.read_garbage(connection) == {"y": NOON}


# -- refreshes that were measured -------------------------------------------------------------------


def refreshed(connection, name, table_id, action, seconds, estimated, status=history.SUCCEEDED):
    entry = history.Refresh(
        stream_table=name,
        action=action,
        status=status,
        reason=None,
        started_at=NOON,
        finished_at=NOON,
        initiated_by="manual",
        seconds=seconds,
        table_id=table_id,
        estimated_seconds=estimated,
    )
    history.add_refreshes(connection, [entry])


def test_a_table_is_measured_by_its_own_refreshes_that_succeeded(connection):
    refreshed(connection, ORDERS, "gone", "FULL", 9.0, 1.0)
    refreshed(connection, ORDERS, "a", "REINITIALIZE", 4.0, None)
    refreshed(connection, LINES, "b", "FULL", 9.0, 1.0)
    refreshed(connection, ORDERS, "a", "DIFFERENTIAL", 0.5, 0.25)
    refreshed(connection, ORDERS, "a", "DIFFERENTIAL", 9.0, 1.0, status=history.FAILED)
    refreshed(connection, ORDERS, "a", "NO_DATA", 0.0, None)
    found = history.read_measured_refreshes(connection, ORDERS, "a", 10)
    assert found == [
        history.MeasuredRefresh("DIFFERENTIAL", 0.5, 0.25, "a"),
        history.MeasuredRefresh("REINITIALIZE", 4.0, None, "a"),
    ]
    assert history.read_measured_refreshes(connection, ORDERS, "a", 1) == found[:1]
    assert history.read_refreshes(connection, LINES, 1)[0].estimated_seconds == 1.0


def test_all_tables_that_were_estimated_tell_something_as_long_as_it_is_recent(connection):
    assert history.read_estimated_refreshes(connection, 1) == []
    refreshed(connection, ORDERS, "a", "FULL", 4.0, 2.0)
    refreshed(connection, LINES, "b", "FULL", 4.0, None)
    refreshed(connection, LINES, "b", "FULL", 6.0, 2.0)
    assert [each.table_id for each in history.read_estimated_refreshes(connection, 5)] == ["b", "a"]
    assert [each.seconds for each in history.read_estimated_refreshes(connection, 1)] == [6.0]
    for _ in range(history.LOOKED_THROUGH):
        refreshed(connection, LINES, "b", "FULL", 4.0, None)
    assert history.read_estimated_refreshes(connection, 1) == []
