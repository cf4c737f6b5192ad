"""A running scheduler notices at once what is said about sources, by whomever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import anabranch as ab
from tests.crash.children import Children
from tests.crash.children import Job as ChildJob
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, all_right, rows, sell, stock
from tests.streams.test_run import running, stop_polling


@pytest.fixture
def clock() -> ab.ManualClock:
    """It begins now: what other processes commit is not years before."""
    return ab.ManualClock(datetime.now(UTC))


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


def overdue(lake: ab.Lake, clock: ab.ManualClock, hold: Callable[[], None]) -> None:
    """A stream table that is due, has something to read, and is held; a scheduler that may sleep for long."""
    lake.set("scheduler_lease", "1h")
    lake.create_table("other", "id BIGINT")
    query = f"{BY_REGION} HAVING NOT EXISTS (SELECT 1 FROM other)"
    lake.create_stream_table("by_region", query, schedule="1s")
    hold()
    sell(lake, 4)
    clock.advance(1)


def goes_on(
    lake: ab.Lake, release: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, polls: bool = False
) -> None:
    if not polls:
        stop_polling(monkeypatch)
    with running(lake) as scheduler:
        scheduler.until("tick_finished")
        assert scheduler.count("refresh_finished") == 0
        release()
        scheduler.until("refresh_finished")
    assert scheduler.error is None
    assert rows(lake, "by_region")[("north", 11, 2)] == 1
    assert all_right(lake)


def test_ungating_wakes_it(bazaar, clock, monkeypatch):
    overdue(bazaar, clock, lambda: bazaar.gate_source("sales"))
    goes_on(bazaar, lambda: bazaar.ungate_source("sales"), monkeypatch)


def test_a_watermark_that_catches_up_wakes_it(corner, clock, monkeypatch):
    overdue(corner, clock, lambda: corner.create_watermark_group("pair", ["sales", "other"]))
    corner.advance_watermark("sales", "2030-01-01")
    goes_on(corner, lambda: corner.advance_watermark("other", "2030-01-01"), monkeypatch)


def test_dropping_a_watermark_group_wakes_it(corner, clock, monkeypatch):
    overdue(corner, clock, lambda: corner.create_watermark_group("pair", ["sales", "other"]))
    goes_on(corner, lambda: corner.drop_watermark_group("pair"), monkeypatch)


def test_gating_is_noticed_at_once_too(corner, clock, monkeypatch):
    overdue(corner, clock, lambda: None)
    stop_polling(monkeypatch)
    with running(corner) as scheduler:
        scheduler.until("tick_finished", times=2)  # one that refreshes, one that finds nothing more
        corner.gate_source("sales")
        scheduler.until("skipped")


@pytest.mark.slow_on("sqlite")
def test_ungating_in_another_process_wakes_it(bazaar, place, catalog, clock, monkeypatch):
    """On PostgreSQL it is notified; on SQLite it looks, many times a second."""
    overdue(bazaar, clock, lambda: bazaar.gate_source("sales"))
    children = Children()

    def elsewhere() -> None:
        (end,) = children.run(ChildJob("ungate", str(place), catalog, engine="duck"))
        assert end.error is None

    try:
        goes_on(bazaar, elsewhere, monkeypatch, polls=catalog is None)
    finally:
        children.close()
