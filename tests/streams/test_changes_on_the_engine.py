"""Changes that the engine computes, what is left of them finished in the process."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.refresh import execute
from tests.engines.lakes import duck_lake
from tests.large_tables import tables_are_large

LATE = """SELECT o.day, COUNT(*) AS n FROM orders o
WHERE EXISTS (SELECT 1 FROM lines l WHERE l.id = o.id) GROUP BY o.day"""


@pytest.fixture
def shop(place: Path):
    """A lake in which nothing is computed in the process but what is left of a change."""
    with duck_lake(place, driver_rows=0) as lake:
        lake.create_table("orders", "id BIGINT, day STRING")
        lake.create_table("lines", "id BIGINT, item STRING")
        lake.insert("orders", [(number, "mon" if number % 2 else "tue") for number in range(20)])
        lake.insert("lines", [(number, "lamp") for number in range(0, 20, 3)])
        lake.create_stream_table("late", LATE, refresh_mode="differential")
        yield lake


def change(lake: ab.Lake) -> None:
    with lake.transaction() as tx:
        tx.insert("orders", [(20, "mon"), (21, "tue")])
        tx.insert("lines", [(20, "desk"), (1, "desk")])
        tx.delete("lines", where="id = 3")


def test_the_last_step_takes_no_statement(shop):
    change(shop)
    before = shop._context.engine.statements
    shop.refresh_stream_table("late")
    assert shop.verify("late").ok
    taken = shop._context.engine.statements - before
    change(shop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "finish_locally", lambda *given: None)
        before = shop._context.engine.statements
        shop.refresh_stream_table("late")
        assert shop.verify("late").ok
        assert shop._context.engine.statements - before > taken


def test_a_change_that_fetches_too_many_rows_goes_back_to_the_rules(shop, monkeypatch):
    monkeypatch.setattr(execute, "FETCHED_ROWS", -1_000)
    monkeypatch.setattr(execute, "PER_CHANGED_ROW", 0)
    change(shop)
    shop.refresh_stream_table("late")
    assert shop.verify("late").ok
    assert len(shop._context.large_fetches) == 1
    change(shop)
    shop.refresh_stream_table("late")
    assert shop.verify("late").ok


def test_rows_of_large_tables_are_looked_up_and_no_statement_reads_them(shop):
    # By then the columns are kept, and what is left of a change is computed in the process.
    for _ in range(2):
        change(shop)
        before = shop._context.engine.statements
        with tables_are_large():
            shop.refresh_stream_table("late")
        taken = shop._context.engine.statements - before
        assert shop.verify("late").ok
    assert taken == 1
    assert not shop._context.large_lookups


def test_a_look_up_that_finds_too_much_goes_back_to_reading_once(shop, monkeypatch):
    monkeypatch.setattr("anabranch.engine.local.look_up_steps.look_up_rows", lambda *given: None)
    change(shop)
    with tables_are_large():
        shop.refresh_stream_table("late")
        assert shop.verify("late").ok
        assert len(shop._context.large_lookups) == 1
        assert not shop._context.large_fetches
        change(shop)
        shop.refresh_stream_table("late")
    assert shop.verify("late").ok


def test_without_bytes_for_look_ups_the_engine_reads(shop):
    shop.set("driver_lookup_bytes", 0)
    change(shop)
    with tables_are_large():
        shop.refresh_stream_table("late")
    assert shop.verify("late").ok
    assert not shop._context.large_lookups


def test_a_stored_result_too_large_to_be_read_here_is_the_engine_s(shop, monkeypatch):
    monkeypatch.setattr("anabranch.engine.local.finish.FINISHED_ROWS", 0)
    change(shop)
    shop.refresh_stream_table("late")
    assert shop.verify("late").ok
