"""The database took the commit, or didn't, and the answer was lost: it is looked up, never repeated."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError

import anabranch as ab
from anabranch.commit.group_commit import Unknown
from anabranch.errors import CatalogUnavailable, CommitUnknown, TransactionOver
from anabranch.failpoints import COMMIT_POINTS, Failpoints
from anabranch.ledger.database import Database
from tests.crash import scripts
from tests.crash.conftest import Spot
from tests.crash.model import bag, check_history, state_of
from tests.crash.reachable import Survey, stored_files, survey
from tests.crash.stream_scripts import prepare_streams

SCHEMA = scripts.SCHEMA
IN_THE_TRANSACTION = COMMIT_POINTS[COMMIT_POINTS.index("commit.before_transaction") + 1 :]


def lost() -> OperationalError:
    return OperationalError("COMMIT", None, OSError("server closed the connection"))


class Times:
    """An action that raises the first few times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        if self.left:
            self.left -= 1
            raise lost()


@pytest.mark.parametrize("point", IN_THE_TRANSACTION)
def test_a_write_whose_answer_was_lost_is_applied_once_and_says_its_lsn(spot: Spot, point: str):
    lose_and_check(spot, point, times=1)


@pytest.mark.parametrize("point", IN_THE_TRANSACTION)
def test_a_write_whose_answer_was_lost_twice_is_applied_once_too(sqlite_spot: Spot, point: str):
    lose_and_check(sqlite_spot, point, times=2)


def lose_and_check(spot: Spot, point: str, times: int) -> None:
    failpoints = Failpoints()
    with spot.open(failpoints=failpoints) as lake:
        model = scripts.prepare(lake)
        for write, meaning in (
            (scripts.insert_once, scripts.one_table),
            (scripts.commit_five, scripts.five_tables),
        ):
            action = Times(times)
            failpoints.arm(point, action)
            answer = write(lake, None)
            # Once the commit has happened, asking for it doesn't commit again.
            assert action.left == (times - 1 if point == "commit.after_commit" else 0)
            failpoints.disarm(point)
            meaning(model)
            model.committed(answer)
        check_history(lake, model.history)


def test_a_database_that_never_takes_the_commit_ends_in_a_typed_error(sqlite_spot: Spot):
    """It can be read and locked, but every commit fails: the write gives up after a bounded time."""
    failpoints = Failpoints()
    with sqlite_spot.open(failpoints=failpoints) as lake:
        lake.create_table("t", SCHEMA)
        action = Times(1000)
        failpoints.arm("commit.before_commit", action)
        with pytest.raises(ab.AnabranchError) as caught:
            lake.insert("t", [(1, "a")], attempt="mine")
        assert caught.value.code in ("AB303", "AB304")
        assert action.left > 900
        failpoints.disarm("commit.before_commit")
        assert lake.committed("mine") is None
        assert lake.arrow("t").num_rows == 0
        assert lake.insert("t", [(1, "a")], attempt="mine").lsn == lake.lsn
        assert lake.arrow("t").num_rows == 1


@pytest.mark.parametrize(
    ("point", "happened"), [("commit.before_commit", False), ("commit.after_commit", True)]
)
def test_a_database_that_stays_away_leaves_the_outcome_open_and_says_so(
    spot: Spot, monkeypatch: pytest.MonkeyPatch, point: str, happened: bool
):
    failpoints = Failpoints()
    with spot.open(failpoints=failpoints) as lake:
        lake.create_table("t", SCHEMA)
        present = Database.begin_write

        def leave() -> None:
            monkeypatch.setattr(Database, "begin_write", _gone)
            raise lost()

        failpoints.arm(point, leave)
        with pytest.raises(CommitUnknown) as caught:
            lake.insert("t", [(1, "a")], attempt="mine")
        assert caught.value.code == "AB303"
        assert "mine" in str(caught.value)
        assert "committed" in str(caught.value.hint)

        monkeypatch.setattr(Database, "begin_write", present)
        failpoints.disarm(point)
        assert (lake.committed("mine") is not None) is happened
        lake.insert("t", [(1, "a")], attempt="mine")
        assert bag(lake.arrow("t")) == Counter({(1, "a"): 1})


@contextmanager
def _gone(_database: Database) -> Iterator[sqlalchemy.Connection]:
    raise CatalogUnavailable("the catalog database can't be used")
    yield


def test_a_database_that_comes_back_while_the_outcome_is_open_settles_it(
    spot: Spot, monkeypatch: pytest.MonkeyPatch
):
    failpoints = Failpoints()
    with spot.open(failpoints=failpoints) as lake:
        lake.create_table("t", SCHEMA)
        present = Database.begin_write
        calls = 0

        @contextmanager
        def away_twice(database: Database) -> Iterator[sqlalchemy.Connection]:
            nonlocal calls
            calls += 1
            if calls <= 2:
                raise lost()
            with present(database) as connection:
                yield connection

        def leave() -> None:
            monkeypatch.setattr(Database, "begin_write", away_twice)
            raise lost()

        failpoints.arm("commit.after_commit", leave)
        answer = lake.insert("t", [(1, "a")])
        assert calls == 3
        assert answer.lsn == lake.lsn == 2
        assert bag(lake.arrow("t")) == Counter({(1, "a"): 1})


def test_a_server_that_drops_the_connection_inside_the_transaction_loses_nothing(
    place: Path, postgres: Callable[[], str]
):
    """A real one: the backend is terminated just before COMMIT is sent."""
    address = postgres()
    failpoints = Failpoints()
    spot = Spot(place, address, ab.ManualClock())
    with spot.open(failpoints=failpoints) as lake:
        model = scripts.prepare(lake)

        def terminate() -> None:
            failpoints.disarm("commit.before_commit")
            _terminate_others(address)

        failpoints.arm("commit.before_commit", terminate)
        answer = scripts.commit_five(lake, "mine")
        scripts.five_tables(model)
        model.committed(answer)
        check_history(lake, model.history)

        # Idle connections that died meanwhile are replaced without anybody noticing.
        _terminate_others(address)
        assert state_of(lake) == model.state
        _terminate_others(address)
        assert lake.insert("orders", [(1, "z")]).lsn == answer + 1


def _terminate_others(address: str) -> None:
    """End every other session of the database, and wait until they are gone."""
    here = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    engine = sqlalchemy.create_engine(address)
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text(f"SELECT pg_terminate_backend(pid, 10000) {here}")).all()
    engine.dispose()


def test_asking_for_an_attempt_waits_until_it_is_decided(spot: Spot, opened: Callable[..., ab.Lake]):
    """The commit hangs before COMMIT; who asks meanwhile must not be told that it didn't happen."""
    failpoints = Failpoints()
    writer, asker = opened(spot, failpoints=failpoints), opened(spot)
    writer.create_table("t", SCHEMA)
    hanging, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        hanging.set()
        go_on.wait(30)

    failpoints.arm("commit.before_commit", hang)
    with ThreadPoolExecutor(2) as threads:
        try:
            writing = threads.submit(writer.insert, "t", [(1, "a")], attempt="mine")
            assert hanging.wait(30)
            asking = threads.submit(asker.committed, "mine")
            with pytest.raises(TimeoutError):
                asking.result(timeout=0.3)
            assert asker.lsn == 1  # reading doesn't wait
        finally:
            go_on.set()
        assert (writing.result(30).lsn, asking.result(30)) == (2, 2)


def test_an_attempt_is_looked_up_by_its_own_name_only(spot: Spot):
    with spot.open() as lake:
        lake.create_table("t", SCHEMA)
        assert lake.insert("t", [(1, "a")], attempt="one").lsn == 2
        assert lake.insert("t", [(1, "a")], attempt="two").lsn == 3
        assert lake.insert("t", [(1, "a")], attempt="one").lsn == 2
        assert (lake.committed("one"), lake.committed("two"), lake.committed("On%")) == (2, 3, None)
        assert lake._context.catalog.settle(Unknown("none", "")) is None
        assert lake.arrow("t").num_rows == 2


def test_a_transaction_that_was_committed_does_nothing_when_it_is_run_again(spot: Spot):
    """Its verbs would fail on what they did before: the name is taken, the table is dropped."""
    with spot.open() as lake:
        model = scripts.prepare(lake)
        answer = scripts.commit_five(lake, "mine")
        scripts.five_tables(model)
        model.committed(answer)
        files = stored_files(spot.location)
        with lake.transaction(attempt="mine") as again:
            assert again.lsn == answer
            scripts.five_tables(again)
            assert again.insert("no such table", [(1, "a")]).inserted == 0
        assert again.lsn == lake.lsn == answer
        with pytest.raises(TransactionOver):
            again.insert("orders", [(1, "a")])
        assert stored_files(spot.location) == files
        check_history(lake, model.history)


def test_the_name_of_an_attempt_never_becomes_a_path(sqlite_spot: Spot):
    name = "../../../../" + "é'\"%_ /x" * 8
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
        for _ in range(2):
            with lake.transaction(attempt=name) as tx:
                scripts.many_change_files(tx)
        scripts.many_change_files(model)
        model.committed(tx.lsn)
        assert lake.committed(name) == lake.lsn
        check_history(lake, model.history)
    inside = {path for path in sqlite_spot.location.parent.rglob("*") if path.is_file()}
    tables = stored_files(sqlite_spot.location)
    assert {path.name for path in inside - tables} <= {"catalog.db", "catalog.db-wal", "catalog.db-shm"}
    assert all(path.name.isascii() and " " not in path.name for path in tables)
    assert survey(sqlite_spot.location, None) == Survey(set(), set())


def test_the_same_attempt_in_two_processes_at_once_is_applied_once(
    spot: Spot, opened: Callable[..., ab.Lake]
):
    """A client lost patience and started the same job again while the first one still ran."""
    first, second = Failpoints(), Failpoints()
    slow, fast = opened(spot, failpoints=first), opened(spot, failpoints=second)
    slow.create_table("t", SCHEMA)
    answers: list[int | None] = []

    def overtaken() -> None:
        first.disarm("commit.before_transaction")
        answers.append(fast.insert("t", [(1, "a")], attempt="mine").lsn)

    first.arm("commit.before_transaction", overtaken)
    answers.append(slow.insert("t", [(1, "a")], attempt="mine").lsn)
    assert answers == [2, 2]
    assert slow.lsn == 2
    assert slow.arrow("t").num_rows == 1


@pytest.mark.parametrize("point", IN_THE_TRANSACTION)
def test_dropping_a_stream_table_whose_answer_was_lost_is_looked_up(spot: Spot, point: str):
    failpoints = Failpoints()
    with spot.open_duck(failpoints=failpoints) as lake:
        prepare_streams(lake, "single")
        failpoints.arm(point, Times(1))
        if point == "commit.after_commit":
            lake.drop_stream_table("by_region")
        else:
            with pytest.raises(CatalogUnavailable):
                lake.drop_stream_table("by_region")
            lake.drop_stream_table("by_region")
        assert lake.status() == []
        assert "by_region" not in {table.name for table in lake.tables()}
