"""The scheduler's loop: it works when something is due, sleeps otherwise, and wakes at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import select

import anabranch as ab
from anabranch.ledger import tables
from anabranch.schedule import run as loop
from anabranch.schedule import wake
from tests.crash.children import Children
from tests.crash.promises import check_promises
from tests.crash.schedulers import Job, Scheduler, eventually
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, actions, all_right, diamond, one, rows, sell, stock

SOON = 20.0
"""Seconds within which something happens at once even on a machine that has other things to do."""


class CountingClock(ab.ManualClock):
    """A clock that moves only when told to, and counts how often it was asked."""

    asked = 0

    def now(self) -> datetime:
        self.asked += 1
        return super().now()


class Running:
    """`lake.run()` in a thread, and what it said."""

    def __init__(self, lake: ab.Lake, observer: Callable[[ab.Event], None]) -> None:
        self.events: list[ab.Event] = []
        self.error: BaseException | None = None
        self.stop = threading.Event()
        self._lake = lake
        self._observer = observer
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def count(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.events)

    def until(self, kind: str, times: int = 1, *, clock: ab.ManualClock | None = None) -> float:
        return eventually(lambda: self.count(kind) >= times, SOON, clock)

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> None:
        self.stop.set()
        self._lake._context.catalog.committed.set()
        self._thread.join(SOON)
        assert self.ended()

    def _run(self) -> None:
        try:
            self._lake.run(observer=self._hear, stop=self.stop)
        except BaseException as error:  # noqa: BLE001  it is asserted on
            self.error = error

    def _hear(self, event: ab.Event) -> None:
        self.events.append(event)
        self._observer(event)


@contextmanager
def running(lake: ab.Lake, observer: Callable[[ab.Event], None] = lambda event: None) -> Iterator[Running]:
    loop = Running(lake, observer)
    try:
        yield loop
    finally:
        loop.end()


@pytest.fixture
def clock() -> CountingClock:
    """It begins now: what other processes commit is not years before."""
    return CountingClock(datetime.now(UTC))


@pytest.fixture
def bazaar(place: Path, catalog: str | None, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """The shop, on SQLite and on PostgreSQL."""
    with duck_lake(place, catalog=catalog, clock=clock) as lake:
        stock(lake)
        yield lake


@pytest.fixture
def corner(place: Path, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """The same on SQLite."""
    with duck_lake(place, clock=clock) as lake:
        stock(lake)
        yield lake


def lease_is_free(lake: ab.Lake) -> bool:
    with lake._context.catalog.database.begin_read() as connection:
        row = connection.execute(select(tables.leases)).one_or_none()
    return row is None or row.holder == ""


# -- when it works --------------------------------------------------------------------------------


def test_it_refreshes_what_is_due(bazaar, clock):
    bazaar.create_stream_table("by_region", BY_REGION, schedule="1s", refresh_mode="differential")
    with running(bazaar) as scheduler:
        for number in range(4, 7):
            sell(bazaar, number)
            eventually(lambda n=number: seen(bazaar) == n, SOON, clock)
    assert scheduler.error is None
    assert [entry for entry in actions(bazaar) if entry[1] != "NO_DATA"] == [
        ("by_region", "REINITIALIZE", "SUCCEEDED"),
        *[("by_region", "DIFFERENTIAL", "SUCCEEDED")] * 3,
    ]
    check_promises(bazaar)
    assert lease_is_free(bazaar)


def test_it_waits_until_something_is_due(corner, clock):
    corner.create_stream_table("by_region", BY_REGION, schedule="3s")
    sell(corner, 4)
    with running(corner) as scheduler:
        scheduler.until("refresh_finished", clock=clock)
    first, second = reversed(corner.refresh_history("by_region"))
    # The moment from which it waits lies between the two of the first one.
    assert (second.started_at - first.started_at).total_seconds() >= 3


def test_while_nothing_is_due_it_sleeps(corner, clock):
    """With a lease of an hour there is nothing to get up for."""
    corner.set("scheduler_lease", "1h")
    diamond(corner)
    with running(corner) as scheduler:
        scheduler.until("tick_finished")
        before = clock.asked
        eventually(lambda: clock.asked > before + 5, SOON)
        assert scheduler.count("tick_started") == 1


def test_with_nothing_to_do_it_gets_up_to_renew_its_lease(corner, clock):
    corner.set("scheduler_lease", "300ms")
    with running(corner) as scheduler:
        scheduler.until("tick_finished", times=5, clock=clock)


# -- what wakes it --------------------------------------------------------------------------------


def overdue(lake: ab.Lake, clock: ab.ManualClock) -> None:
    """A stream table that is due as soon as something changes, and a scheduler that may sleep for long."""
    lake.set("scheduler_lease", "1h")
    lake.create_stream_table("by_region", BY_REGION, schedule="1s")
    clock.advance(1)


def stop_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that starts now is woken, or it sleeps."""
    monkeypatch.setattr(wake, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(wake, "RECHECK_SECONDS", 3600.0)


def test_a_commit_of_this_process_wakes_it(bazaar, clock, monkeypatch):
    overdue(bazaar, clock)
    stop_polling(monkeypatch)
    with running(bazaar) as scheduler:
        scheduler.until("tick_finished")
        sell(bazaar, 4)
        scheduler.until("refresh_finished", clock=clock)
    assert all_right(bazaar)


def test_on_sqlite_it_sees_the_commit_of_another_process(corner, place, clock):
    overdue(corner, clock)
    with running(corner) as scheduler:
        scheduler.until("tick_finished")
        children = Children()
        try:
            (end,) = children.run(sale_elsewhere(place, None))
        finally:
            children.close()
        assert end.error is None
        scheduler.until("refresh_finished", clock=clock)
    assert all_right(corner)


def test_on_postgresql_the_commit_of_another_process_notifies_it(place, postgres, clock, monkeypatch):
    catalog = postgres()
    with duck_lake(place, catalog=catalog, clock=clock) as lake:
        stock(lake)
        overdue(lake, clock)
        stop_polling(monkeypatch)
        with running(lake) as scheduler:
            scheduler.until("tick_finished")
            eventually(lambda: listens(catalog), SOON)
            children = Children()
            try:
                (end,) = children.run(sale_elsewhere(place, catalog))
            finally:
                children.close()
            assert end.error is None
            scheduler.until("refresh_finished", clock=clock)
        assert all_right(lake)


def sale_elsewhere(place: Path, catalog: str | None):
    from tests.crash.children import Job as ChildJob

    return ChildJob("sell_one", str(place), catalog, engine="duck")


# -- how it stops ---------------------------------------------------------------------------------


def test_it_stops_when_it_is_told_to_and_frees_the_lease(bazaar):
    diamond(bazaar)
    with running(bazaar) as scheduler:
        scheduler.until("tick_finished")
        assert not lease_is_free(bazaar)
        scheduler.stop.set()
        eventually(scheduler.ended, SOON)
    assert scheduler.error is None
    assert lease_is_free(bazaar)


def test_told_to_stop_in_the_middle_it_finishes_the_group_and_begins_no_other(corner, clock):
    """A chain after the diamond is a unit of its own, and is left for next time."""
    diamond(corner)
    corner.create_stream_table("copy", "SELECT regional_total FROM summary", schedule="1m")
    for each in corner.status():
        corner.alter_stream_table(each.name, schedule="1s")
    sell(corner, 4)
    clock.advance(1)

    def stop(event: ab.Event) -> None:
        if event.kind == "refresh_started":
            scheduler.stop.set()

    with running(corner, stop) as scheduler:
        eventually(scheduler.ended, SOON)
    assert scheduler.error is None
    assert one(corner, "summary").data_timestamp is not None
    done = {entry.stream_table for entry in corner.refresh_history() if entry.action == "DIFFERENTIAL"}
    assert done == {"by_region", "by_product", "summary"}
    check_promises(corner)
    assert lease_is_free(corner)


@pytest.mark.crash
def test_sigterm_in_the_middle_of_a_group_lets_it_be_published(place):
    """A process of its own has the machine's clock, and so has what it schedules."""
    with duck_lake(place) as corner:
        stock(corner)
        _ask_to_stop_in_the_middle(corner, place)


def _ask_to_stop_in_the_middle(corner: ab.Lake, place: Path) -> None:
    diamond(corner)
    for each in corner.status():
        corner.alter_stream_table(each.name, schedule="1s")
    sell(corner, 4)
    with Scheduler(Job(str(place), sleep_at="refresh.after_member")) as scheduler:
        scheduler.until_asleep()
        scheduler.process.send_signal(signal.SIGTERM)
        scheduler.wake()
        assert scheduler.process.wait(SOON) == 0
    assert scheduler.seen[-1] == "over"
    assert scheduler.seen.count("group_committed") == 1
    assert {rows(corner, "by_region")[("north", 11, 2)]} == {1}
    check_promises(corner)
    assert lease_is_free(corner)


# -- what goes wrong ------------------------------------------------------------------------------


class Angry(Exception):
    """An observer's own."""


@pytest.mark.rotating(3)
@pytest.mark.parametrize("parallelism", [1, 4])
@pytest.mark.parametrize(
    "kind", ["tick_started", "refresh_started", "refresh_finished", "group_committed", "tick_finished"]
)
def test_what_an_observer_raises_comes_out_of_a_tick_and_is_no_failure_of_a_refresh(
    shop, clock, kind, parallelism
):
    shop.set("parallelism", parallelism)
    diamond(shop)
    before = {each.name: rows(shop, each.name) for each in shop.status()}
    sell(shop, 4)
    clock.advance(60)

    def rage(event: ab.Event) -> None:
        if event.kind == kind:
            raise Angry(event.kind)

    with pytest.raises(Angry, match=kind):
        shop.tick(observer=rage)
    published = kind in ("group_committed", "tick_finished")
    assert ({each.name: rows(shop, each.name) for each in shop.status()} == before) is not published
    assert {each.consecutive_failures for each in shop.status()} == {0}
    assert {entry.status for entry in shop.refresh_history()} == {"SUCCEEDED"}
    check_promises(shop)
    assert lease_is_free(shop)
    assert len(shop.tick().refreshed) == (0 if published else 3)
    check_promises(shop)


def test_what_an_observer_raises_ends_the_loop_and_frees_the_lease(corner, clock):
    diamond(corner)
    for each in corner.status():
        corner.alter_stream_table(each.name, schedule="1s")
    sell(corner, 4)
    clock.advance(1)

    def rage(event: ab.Event) -> None:
        if event.kind == "refresh_finished":
            raise Angry

    with running(corner, rage) as scheduler:
        eventually(scheduler.ended, SOON)
    assert isinstance(scheduler.error, Angry)
    check_promises(corner)
    assert lease_is_free(corner)


def test_connections_that_are_cut_do_not_end_the_loop(place, postgres, clock, monkeypatch):
    catalog = postgres()
    monkeypatch.setattr(loop, "PAUSE_AFTER_LOSS", 0.1)
    with duck_lake(place, catalog=catalog, clock=clock) as lake, running_through(lake) as scheduler:
        for number in range(4, 9):
            cut(catalog)
            sell_through(lake, number)
            eventually(lambda n=number: seen(lake) == n, SOON, clock)
        scheduler.end()
        assert scheduler.error is None
        check_promises(lake)


def test_after_its_listener_was_cut_it_listens_again(place, postgres, clock, monkeypatch):
    catalog = postgres()
    with (
        duck_lake(place, catalog=catalog, clock=clock) as lake,
        duck_lake(place, catalog=catalog, clock=clock) as other,
    ):
        stock(lake)
        overdue(lake, clock)
        stop_polling(monkeypatch)
        with running(lake) as scheduler:
            scheduler.until("tick_finished")
            eventually(lambda: listens(catalog), SOON)
            cut(catalog)
            eventually(lambda: not listens(catalog), SOON)
            eventually(lambda: listens(catalog), SOON)
            sell_through(other, 4)
            scheduler.until("refresh_finished", clock=clock)


@contextmanager
def running_through(lake: ab.Lake) -> Iterator[Running]:
    stock(lake)
    lake.create_stream_table("by_region", BY_REGION, schedule="1s")
    with running(lake) as scheduler:
        yield scheduler


def seen(lake: ab.Lake) -> int:
    try:
        return sum(row[2] for row in rows(lake, "by_region"))
    except ab.AnabranchError:
        return -1


def sell_through(lake: ab.Lake, number: int) -> None:
    """One more sale, tried until the database takes it; an attempt is applied once."""

    def is_sold() -> bool:
        try:
            lake.insert("sales", [(number, "north", 1, 1, 1)], attempt=f"sale {number}")
        except ab.AnabranchError:
            return False
        return True

    eventually(is_sold, SOON)


def cut(catalog: str) -> None:
    """End every other connection to the catalog."""
    ask(
        catalog,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def listens(catalog: str) -> bool:
    """Whether somebody waits for notifications."""
    return ask(
        catalog,
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%'",
    )


def ask(catalog: str, statement: str) -> bool:
    """Whether the count that a statement answers with is above zero."""
    engine = sqlalchemy.create_engine(catalog)
    with engine.connect() as connection:
        found = connection.execute(sqlalchemy.text(statement)).scalar_one()
    engine.dispose()
    return bool(found)


def test_a_database_that_cannot_be_reached_for_a_while_is_waited_for(corner, clock, monkeypatch):
    """Nothing can be read, then nothing can be written, while it sleeps and while it works."""
    monkeypatch.setattr(loop, "PAUSE_AFTER_LOSS", 0.05)
    corner.create_stream_table("by_region", BY_REGION, schedule="1s")
    database = corner._context.catalog.database
    lost = threading.Event()
    failed: list[str] = []
    whole = {name: getattr(database, name) for name in ("begin_read", "begin_write", "begin_commit")}

    def breaking(name: str):
        @contextmanager
        def transaction():
            if lost.is_set() and threading.current_thread() is not threading.main_thread():
                failed.append(name)
                raise ab.errors.CatalogUnavailable("gone")
            with whole[name]() as connection:
                yield connection

        return transaction

    for name in whole:
        monkeypatch.setattr(database, name, breaking(name))
    with running(corner) as scheduler:
        for number in range(4, 7):
            scheduler.until("tick_finished")
            lost.set()
            sell(corner, number)
            before = len(failed)
            eventually(lambda n=before: len(failed) > n + 2, SOON, clock)
            assert not scheduler.ended()
            lost.clear()
            eventually(lambda n=number: seen(corner) == n, SOON, clock)
    assert scheduler.error is None
    check_promises(corner)
