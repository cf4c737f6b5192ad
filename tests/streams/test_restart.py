"""A new process goes on where the last one stopped, also on a lake of the release before stream tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

import anabranch as ab
from anabranch.ledger import migrations
from anabranch.ledger.migrations import read_migrations
from tests.crash.children import Children, Job
from tests.crash.promises import check_promises, contents
from tests.crash.stream_scripts import FIRST, SHAPES, create_shape, meaning, prepare_streams
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, COLUMNS, rows, sell

pytestmark = pytest.mark.slow_on("postgres")

NEW = (4, "west", 3, 1, 100)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    server = Children()
    yield server
    server.close()


def elsewhere(place: Path, catalog: str | None, clock: ab.ManualClock, script: str) -> Job:
    return Job(script, str(place), catalog, now=clock.now().isoformat(), engine="duck")


@pytest.mark.parametrize("shape", ["chain", "diamond"])
def test_a_new_process_reads_only_what_changed_since_the_stored_frontiers(
    place, catalog, clock, children, shape
):
    with duck_lake(place, clock=clock, catalog=catalog) as lake:
        prepare_streams(lake, shape)
        for each in lake.status():
            lake.alter_stream_table(each.name, refresh_mode="differential")
        lake.insert("sales", [NEW])
        entries = len(lake.refresh_history())
    clock.advance(60)
    (end,) = children.run(elsewhere(place, catalog, clock, "tick_once"))
    assert sorted(end.result) == sorted(SHAPES[shape])
    with duck_lake(place, clock=clock, catalog=catalog) as lake:
        assert contents(lake) == meaning(shape, [*FIRST, NEW])
        check_promises(lake)
        added = lake.refresh_history()[: len(lake.refresh_history()) - entries]
        assert {entry.action for entry in added} == {"DIFFERENTIAL"}
        moved = {entry.stream_table: (entry.rows_inserted, entry.rows_deleted) for entry in added}
        assert moved == (
            {"a": (1, 0), "b": (1, 0), "c": (1, 0)}
            if shape == "chain"
            else {"by_region": (1, 0), "by_product": (1, 0), "summary": (1, 1)}
        )


def test_a_new_process_with_nothing_new_does_nothing(place, catalog, clock, children):
    with duck_lake(place, clock=clock, catalog=catalog) as lake:
        prepare_streams(lake, "diamond")
        before, state = lake.lsn, contents(lake)
    for _ in range(3):
        clock.advance(60)
        (end,) = children.run(elsewhere(place, catalog, clock, "tick_once"))
        assert end.result == []
    with duck_lake(place, clock=clock, catalog=catalog) as lake:
        assert (lake.lsn, contents(lake)) == (before, state)
        assert [entry.action for entry in lake.refresh_history()] == ["NO_DATA"] * 3 + ["REINITIALIZE"] * 3


def test_many_processes_one_after_the_other_lose_nothing_and_repeat_nothing(place, clock, children):
    with duck_lake(place, clock=clock) as lake:
        prepare_streams(lake, "diamond")
    for number in range(10, 15):
        with duck_lake(place, clock=clock) as lake:
            sell(lake, number, region=f"r{number}", product=number, amount=number)
        clock.advance(60)
        (end,) = children.run(elsewhere(place, None, clock, "tick_once"))
        assert len(end.result) == 3
    with duck_lake(place, clock=clock) as lake:
        sales = [(number, f"r{number}", number, 1, number) for number in range(10, 15)]
        assert contents(lake) == meaning("diamond", [*FIRST, *sales])
        assert len([entry for entry in lake.refresh_history("summary") if entry.lsn is not None]) == 6
        check_promises(lake)


def test_what_waits_after_a_failure_still_waits_in_a_new_process(place, clock):
    with duck_lake(place, clock=clock) as lake:
        prepare_streams(lake, "diamond")
        sell(lake, 4, pieces=0)
        clock.advance(60)
        assert lake.tick().failed
    with duck_lake(place, clock=clock) as lake:
        assert {name for name, _ in lake.tick().held} == set(SHAPES["diamond"])
        clock.advance(1)
        assert lake.tick().failed
        (branch,) = [each for each in lake.status() if each.name == "by_product"]
        assert branch.consecutive_failures == 2


def test_a_lake_of_the_release_before_stream_tables_is_taken_over(place, catalog, clock, monkeypatch):
    first = read_migrations()[:1]
    with monkeypatch.context() as before:
        before.setattr(migrations, "read_migrations", lambda: first)
        with ab.connect(place, catalog=catalog, clock=clock) as lake:
            lake._context = replace(lake._context, follow=None)  # nothing followed a write then
            lake.create_table("sales", COLUMNS)
            lake.insert("sales", FIRST)
            written = lake.lsn
    assert "anabranch_stream_tables" not in tables_of(place, catalog)
    with duck_lake(place, clock=clock, catalog=catalog) as lake:
        assert lake.lsn == written
        assert rows(lake, "sales").total() == len(FIRST)
        assert lake.status() == []
        assert lake.tick().leads
        create_shape(lake, "diamond")
        lake.insert("sales", [NEW])
        clock.advance(60)
        assert len(lake.tick().refreshed) == 3
        assert contents(lake) == meaning("diamond", [*FIRST, NEW])
        check_promises(lake)
        assert lake.maintain()
    assert {"anabranch_stream_tables"} <= tables_of(place, catalog)


def test_such_a_lake_can_be_opened_by_two_at_once(place, clock, monkeypatch):
    first = read_migrations()[:1]
    with monkeypatch.context() as before:
        before.setattr(migrations, "read_migrations", lambda: first)
        with ab.connect(place, clock=clock) as lake:
            lake._context = replace(lake._context, follow=None)
            lake.create_table("sales", COLUMNS)
    with duck_lake(place, clock=clock) as one, duck_lake(place, clock=clock) as two:
        one.create_stream_table("by_region", BY_REGION)
        assert [each.name for each in two.status()] == ["by_region"]
    numbers = [step.number for step in read_migrations()]
    engine = create_engine(f"sqlite:///{place}/catalog.db")
    with engine.connect() as connection:
        found = connection.execute(text("SELECT number FROM anabranch_migrations ORDER BY number"))
        assert [row[0] for row in found] == numbers
    engine.dispose()


def tables_of(place: Path, catalog: str | None) -> set[str]:
    engine = create_engine(catalog or f"sqlite:///{place}/catalog.db")
    found = set(inspect(engine).get_table_names())
    engine.dispose()
    return found
