"""Changes that the engine computes, what is left of them finished in the process."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.refresh import execute
from tests.engines.lakes import duck_lake

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


def test_a_stored_result_too_large_to_be_read_here_is_the_engine_s(shop, monkeypatch):
    monkeypatch.setattr("anabranch.engine.local.finish.FINISHED_ROWS", 0)
    change(shop)
    shop.refresh_stream_table("late")
    assert shop.verify("late").ok
