"""A running scheduler notices at once what is said about sources, by whomever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import anabranch as ab
from tests.crash.children import Children
from tests.crash.children import Job as ChildJob
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, all_right, rows, sell, stock
from tests.streams.test_run import running, slow_polls


@pytest.fixture
def bazaar(place: Path, catalog: str | None) -> Iterator[ab.Lake]:
    """The shop on the machine's clock, on SQLite and on PostgreSQL."""
    with duck_lake(place, catalog=catalog) as lake:
        stock(lake)
        yield lake


@pytest.fixture
def corner(place: Path) -> Iterator[ab.Lake]:
    """The same on SQLite."""
    with duck_lake(place) as lake:
        stock(lake)
        yield lake


def overdue(lake: ab.Lake, hold: Callable[[], None]) -> None:
    """A stream table that is due, has something to read, and is held; a scheduler that may sleep for long."""
    lake.set("scheduler_lease", "1h")
    lake.create_table("other", "id BIGINT")
    query = f"{BY_REGION} HAVING NOT EXISTS (SELECT 1 FROM other)"
    lake.create_stream_table("by_region", query, schedule="1s")
    hold()
    sell(lake, 4)
    time.sleep(1)


def goes_on(
    lake: ab.Lake, release: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, polls: bool = False
) -> None:
    with running(lake) as scheduler:
        scheduler.until("tick_finished")
        assert scheduler.count("refresh_finished") == 0
        if not polls:
            slow_polls(monkeypatch)
        time.sleep(1)  # the wait that began before
        release()
        scheduler.until("refresh_finished")
    assert scheduler.error is None
    assert rows(lake, "by_region")[("north", 11, 2)] == 1
    assert all_right(lake)


def test_ungating_wakes_it(bazaar, monkeypatch):
    overdue(bazaar, lambda: bazaar.gate_source("sales"))
    goes_on(bazaar, lambda: bazaar.ungate_source("sales"), monkeypatch)


def test_a_watermark_that_catches_up_wakes_it(corner, monkeypatch):
    overdue(corner, lambda: corner.create_watermark_group("pair", ["sales", "other"]))
    corner.advance_watermark("sales", "2030-01-01")
    goes_on(corner, lambda: corner.advance_watermark("other", "2030-01-01"), monkeypatch)


def test_dropping_a_watermark_group_wakes_it(corner, monkeypatch):
    overdue(corner, lambda: corner.create_watermark_group("pair", ["sales", "other"]))
    goes_on(corner, lambda: corner.drop_watermark_group("pair"), monkeypatch)


def test_gating_is_noticed_at_once_too(corner, monkeypatch):
    overdue(corner, lambda: None)
    with running(corner) as scheduler:
        scheduler.until("tick_finished", times=2)  # one that refreshes, one that finds nothing more
        slow_polls(monkeypatch)
        time.sleep(1)
        corner.gate_source("sales")
        scheduler.until("skipped")


@pytest.mark.slow_on("sqlite")
def test_ungating_in_another_process_wakes_it(bazaar, place, catalog, monkeypatch):
    """On PostgreSQL it is notified; on SQLite it looks, many times a second."""
    overdue(bazaar, lambda: bazaar.gate_source("sales"))
    children = Children()

    def elsewhere() -> None:
        (end,) = children.run(ChildJob("ungate", str(place), catalog, engine="duck"))
        assert end.error is None

    try:
        goes_on(bazaar, elsewhere, monkeypatch, polls=catalog is None)
    finally:
        children.close()
