"""Two schedulers on one lake: one leads, and one that slept past its lease can't publish what it prepared."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import select

import anabranch as ab
from anabranch.ledger import tables
from tests.crash.promises import check_promises, contents
from tests.crash.schedulers import Job, Scheduler, eventually
from tests.crash.stream_scripts import FIRST, SHAPES, Row, meaning
from tests.engines.lakes import duck_lake
from tests.streams.shop import COLUMNS

pytestmark = pytest.mark.crash

QUICK = {"scheduler_lease": "1s", "tick_interval": "100ms"}


class Shop:
    """A lake with a diamond that is due whenever something changes, and what it must hold."""

    def __init__(self, place: Path, catalog: str | None) -> None:
        self.place = place
        self.catalog = catalog
        self.lake = duck_lake(place, catalog=catalog)
        self.sales: list[Row] = list(FIRST)
        self.lake.create_table("sales", COLUMNS)
        self.lake.insert("sales", FIRST)
        self.lake.create_stream_tables(
            [{"name": name, "query": query, "schedule": "1s"} for name, query in SHAPES["diamond"].items()]
        )

    def scheduler(self, sleep_at: str | None = None, **settings: str) -> Scheduler:
        return Scheduler(Job(str(self.place), self.catalog, sleep_at, {**QUICK, **settings}))

    def sell(self) -> None:
        number = len(self.sales) + 10
        sale = (number, f"region {number}", number, 2, number)
        self.sales.append(sale)
        self.lake.insert("sales", [sale])

    def fresh(self) -> bool:
        return contents(self.lake) == meaning("diamond", self.sales)

    def until_fresh(self) -> float:
        return eventually(self.fresh)

    def leader(self) -> tuple[str, int]:
        """Who holds the lease, and in which term."""
        with self.lake._context.catalog.database.begin_read() as connection:
            row = connection.execute(select(tables.leases)).one()
        return row.holder, row.term

    def check(self, publications: int) -> None:
        """Each change was applied once, in one commit of all three tables."""
        check_promises(self.lake)
        assert self.fresh()
        entries = self.lake.refresh_history(limit=10_000)
        history = [entry for entry in reversed(entries) if entry.lsn is not None]
        assert Counter(entry.stream_table for entry in history) == dict.fromkeys(
            SHAPES["diamond"], publications
        )
        for name in SHAPES["diamond"]:
            mine = [entry for entry in history if entry.stream_table == name]
            assert all(before.until == after.since for before, after in pairwise(mine))
        assert {entry.status for entry in entries} == {"SUCCEEDED"}


@pytest.fixture
def shop(place: Path, catalog: str | None) -> Iterator[Shop]:

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        made = Shop(place, catalog)
    with made.lake:
        yield made


@pytest.mark.slow_on("postgres")
@pytest.mark.parametrize(
    "point",
    [
        pytest.param("refresh.before_publish", id="before_publish"),
        pytest.param("commit.before_transaction", id="before_transaction", marks=pytest.mark.slow),
        pytest.param("refresh.after_member", id="after_member", marks=pytest.mark.slow),
    ],
)
def test_a_leader_that_slept_past_its_lease_publishes_nothing_and_follows(shop: Shop, point: str):
    with shop.scheduler(point) as sleeper:
        sleeper.until("tick_finished")
        with shop.scheduler() as other:
            other.until("opened")
            shop.sell()
            sleeper.until_asleep()
            before = shop.lake.lsn
            first, term = shop.leader()
            eventually(lambda: shop.leader()[0] != first)
            shop.until_fresh()
            assert shop.lake.lsn == before + 1
            second = shop.leader()
            assert second[1] == term + 1

            sleeper.wake()
            sleeper_saw = len(sleeper.seen)
            shop.sell()
            shop.until_fresh()
            assert shop.leader() == second
            assert "group_committed" not in sleeper.seen
            assert "group_rolled_back" not in sleeper.seen
            assert sleeper.process.poll() is None

            # It follows: nothing is done by it until the other goes, then everything is.
            assert "tick_started" not in sleeper.seen[sleeper_saw:]
            assert other.ask_to_stop() == 0
            sleeper.until("tick_started")
            shop.sell()
            sleeper.until("group_committed")
            shop.until_fresh()
            assert sleeper.ask_to_stop() == 0
    assert other.seen.count("group_committed") == 2
    shop.check(publications=4)


@pytest.mark.slow
def test_a_leader_that_sleeps_inside_its_transaction_keeps_the_others_out(shop: Shop):
    """Nobody can take the lease while a commit under it is undecided, so it is still right to go on."""
    with shop.scheduler("commit.before_commit") as sleeper:
        sleeper.until("tick_finished")
        with shop.scheduler(catalog_timeout="1s") as other:
            other.until("opened")
            shop.sell()
            sleeper.until_asleep()
            with pytest.raises(AssertionError, match="never came"):
                eventually(lambda: "tick_started" in other.seen, patience=3)
            assert other.process.poll() is None
            sleeper.wake()
            shop.until_fresh()
            eventually(lambda: {*sleeper.seen, *other.seen} >= {"group_committed"})
            shop.sell()
            shop.until_fresh()
            assert {sleeper.ask_to_stop(), other.ask_to_stop()} == {0}
    shop.check(publications=3)


@pytest.mark.slow
def test_a_leader_that_is_killed_is_replaced_after_its_lease(shop: Shop):
    with shop.scheduler(scheduler_lease="3s") as leader:
        leader.until("tick_finished")
        with shop.scheduler(scheduler_lease="3s") as other:
            other.until("opened")
            first, term = shop.leader()
            leader.kill()
            shop.sell()
            assert "tick_started" not in other.seen
            assert eventually(lambda: shop.leader()[0] != first) > 0.5
            assert shop.leader()[1] == term + 1
            shop.until_fresh()
            assert other.ask_to_stop() == 0
    shop.check(publications=2)


@pytest.mark.slow
def test_a_leader_that_is_asked_to_stop_is_replaced_at_once(shop: Shop):
    with shop.scheduler(scheduler_lease="1h") as leader:
        leader.until("tick_finished")
        with shop.scheduler(scheduler_lease="1h") as other:
            other.until("opened")
            assert leader.ask_to_stop() == 0
            assert leader.seen[-1] == "tick_finished" or "over" in leader.seen
            shop.sell()
            shop.until_fresh()
            assert "group_committed" in other.seen
            assert other.ask_to_stop() == 0
    assert shop.leader()[0] == ""
    shop.check(publications=2)


@pytest.mark.slow
def test_two_schedulers_that_start_together_do_everything_once(shop: Shop):
    with shop.scheduler() as one, shop.scheduler() as two:
        for scheduler in (one, two):
            scheduler.until("opened")
        for _ in range(5):
            shop.sell()
            shop.until_fresh()
        assert (one.ask_to_stop(), two.ask_to_stop()) == (0, 0)
    shop.check(publications=6)
