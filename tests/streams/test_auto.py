"""Mode `auto`: chooses by sizes before the work, again when it meets more, and learns from what it took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

import anabranch as ab
from anabranch.engine.local import look_up_steps
from anabranch.ledger.history import MeasuredRefresh, read_measured_refreshes
from anabranch.names import TableName
from anabranch.refresh import choose_action
from anabranch.refresh.cost_estimate import SPARK
from tests.engines.lakes import duck_lake
from tests.large_tables import tables_are_large

LATE = """SELECT o.day, COUNT(*) AS n FROM orders o
WHERE EXISTS (SELECT 1 FROM lines l WHERE l.id = o.id) GROUP BY o.day"""
COUNTS = """SELECT n, count(*) AS orders FROM (
    SELECT o.id, count(l.id) AS n FROM orders o LEFT JOIN lines l ON l.id = o.id GROUP BY o.id
) GROUP BY n"""
ORDERS = 200
FREE = replace(SPARK, **dict.fromkeys(vars(SPARK), 1e-9))
"""An engine on which nothing costs anything, but for what a test adds."""


@pytest.fixture
def shop(place: Path) -> Iterator[ab.Lake]:
    """A lake in which the engine computes all changes; what it needs of its tables is looked up."""
    with duck_lake(place, driver_rows=0) as lake, tables_are_large():
        lake.create_table("orders", "id BIGINT, day STRING")
        lake.create_table("lines", "id BIGINT, item STRING")
        lake.insert("orders", [(number, "mon" if number % 2 else "tue") for number in range(ORDERS)])
        lake.insert("lines", [(number, "lamp") for number in range(0, ORDERS, 3)])
        lake.create_stream_table("late", LATE)
        yield lake


def price(monkeypatch: pytest.MonkeyPatch, **prices: float) -> None:
    """Let some kinds of work cost something, and nothing else."""
    monkeypatch.setattr(choose_action, "cost_constants", lambda engine: replace(FREE, **prices))


def insert(lake: ab.Lake, rows: int) -> None:
    lake.insert("lines", [(number, "desk") for number in range(rows)])


def refresh(lake: ab.Lake, name: str = "late") -> tuple[str, str]:
    """What was done, and why; the rows must be right."""
    record = lake.refresh_stream_table(name)
    assert lake.verify(name).ok
    return record.action, record.reason or ""


def measured(lake: ab.Lake, name: str = "late") -> list[MeasuredRefresh]:
    """What is learned from, the newest first."""
    table_id = lake._context.catalog.lake_version().version(TableName.parse(name)).table_id
    with lake._context.catalog.database.begin_read() as connection:
        return read_measured_refreshes(connection, TableName.parse(name), table_id, 100)


# -- the choice before the work ---------------------------------------------------------------------


def test_the_first_choice_goes_by_the_size_of_the_change(
    shop: ab.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    price(monkeypatch, changed_rows=5.0, scanned_rows=1.0)
    insert(shop, 2)
    action, reason = refresh(shop)
    assert action == "DIFFERENTIAL"
    assert reason.startswith("differential: 2 of 269 rows changed, about ")
    insert(shop, 150)
    action, reason = refresh(shop)
    assert action == "FULL"
    assert reason.startswith("full: 150 of 419 rows changed, about ")
    assert ", differential about " in reason


def test_in_the_process_a_few_rows_of_small_tables_are_differential(place: Path) -> None:
    with duck_lake(place) as lake:
        lake.create_table("lines", "id BIGINT, item STRING")
        lake.insert("lines", [(number, "lamp") for number in range(10)])
        lake.create_stream_table("items", "SELECT item, count(*) AS n FROM lines GROUP BY item")
        for _ in range(3):
            lake.insert("lines", [(1, "desk"), (2, "lamp")])
            assert refresh(lake, "items")[0] == "DIFFERENTIAL"


def test_hidden_state_and_recursion_are_estimated_too(shop: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.create_table("edges", "a BIGINT, b BIGINT")
    shop.insert("edges", [(number, number + 1) for number in range(5)])
    shop.create_stream_table(
        "reached",
        "WITH RECURSIVE r AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) "
        "SELECT a, count(*) AS n FROM r GROUP BY a",
    )
    shop.create_stream_table("newest", "SELECT id, day FROM orders ORDER BY id DESC LIMIT 3")
    shop.insert("edges", [(5, 6)])
    shop.insert("orders", [(ORDERS, "mon")])
    for name in ("reached", "newest"):
        action, reason = refresh(shop, name)
        assert action in ("FULL", "DIFFERENTIAL")
        assert reason.startswith(action.lower())


# -- what is learned --------------------------------------------------------------------------------


def test_the_first_refresh_of_a_kind_is_no_evidence_and_later_ones_are(
    shop: ab.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    price(monkeypatch, scanned_rows=1.0)
    for _ in range(3):
        insert(shop, 1)
        assert refresh(shop)[0] == "DIFFERENTIAL"
    shop.refresh_stream_table("late", full=True)
    found = [(each.action, each.estimated_seconds is not None) for each in reversed(measured(shop))]
    assert found == [
        ("REINITIALIZE", False),
        ("DIFFERENTIAL", False),
        ("DIFFERENTIAL", True),
        ("DIFFERENTIAL", True),
        ("FULL", True),
    ]


def test_a_lake_that_is_opened_again_begins_cold(place: Path) -> None:
    for opened in range(2):
        with duck_lake(place) as lake:
            if not opened:
                lake.create_table("lines", "id BIGINT, item STRING")
                lake.create_stream_table("items", "SELECT item, count(*) AS n FROM lines GROUP BY item")
            for _ in range(2):
                lake.insert("lines", [(1, "desk")])
                refresh(lake, "items")
            found = [each.estimated_seconds is not None for each in measured(lake, "items")]
    assert found[:4] == [True, False, True, False]


def test_a_table_whose_contents_move_learns_anew(shop: ab.Lake) -> None:
    for _ in range(3):
        insert(shop, 1)
        refresh(shop)
    shop.alter_stream_table("late", query="SELECT id FROM lines")
    assert [each.estimated_seconds for each in measured(shop)] == [None]


def test_measured_ratios_decide_against_the_estimate(shop: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    price(monkeypatch, scanned_rows=1.0)
    for _ in range(3):
        insert(shop, 1)
        assert refresh(shop)[0] == "DIFFERENTIAL"
    for _ in range(2):
        shop.refresh_stream_table("late", full=True)
    with shop._context.catalog.database.begin_write() as connection:
        connection.execute(
            text(
                "UPDATE anabranch_history SET micros = estimated_micros * 50 "
                "WHERE action = 'DIFFERENTIAL' AND estimated_micros IS NOT NULL"
            )
        )
    insert(shop, 1)
    assert refresh(shop)[0] == "FULL"


def test_other_tables_tell_how_slow_the_machine_is() -> None:
    found = [
        MeasuredRefresh("FULL", 4.0, 2.0, "a"),
        MeasuredRefresh("FULL", 6.0, 2.0, "b"),
        MeasuredRefresh("DIFFERENTIAL", 1.0, 2.0, "a"),
        MeasuredRefresh("FULL", 1.0, None, "a"),
        MeasuredRefresh("FULL", 1.0, 1.0, None),
    ]
    assert choose_action.ratios_by_table(found) == {"a": [2.0, 0.5], "b": [3.0]}


# -- more than was assumed --------------------------------------------------------------------------


@pytest.fixture
def too_much(shop: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> ab.Lake:
    """Every look-up finds too much, and what remains is to read the tables, as a full refresh does."""
    monkeypatch.setattr(look_up_steps, "look_up_rows", lambda *given: None)
    price(monkeypatch, scanned_rows=1.0, operators=1.0)
    return shop


def test_it_turns_to_full_when_a_look_up_finds_too_much(too_much: ab.Lake) -> None:
    insert(too_much, 2)
    action, reason = refresh(too_much)
    assert action == "FULL"
    assert reason.startswith("full: more rows are to be looked up than are worth it, going on about ")
    assert ", full about " in reason
    assert measured(too_much)[0].estimated_seconds is None
    # The next one knows, and doesn't begin in vain.
    insert(too_much, 3)
    action, reason = refresh(too_much)
    assert action == "FULL"
    assert reason.startswith("full: 3 of ")


def test_it_turns_to_full_after_its_hidden_state_was_staged(too_much: ab.Lake) -> None:
    too_much.create_stream_table("counts", COUNTS)
    for rows in (2, 3):
        insert(too_much, rows)
        action, reason = refresh(too_much, "counts")
        assert action == "FULL"
        assert ("going on" in reason) == (rows == 2)
    too_much.alter_stream_table("counts", refresh_mode="differential")
    insert(too_much, 2)
    assert refresh(too_much, "counts")[0] == "DIFFERENTIAL"


def test_it_goes_on_where_that_is_cheaper(too_much: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    price(monkeypatch, written_rows=1.0)
    insert(too_much, 2)
    assert refresh(too_much)[0] == "DIFFERENTIAL"
    assert too_much._context.large_lookups
    assert measured(too_much)[0].estimated_seconds is None


def test_mode_differential_never_turns_to_full(too_much: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    too_much.alter_stream_table("late", refresh_mode="differential")
    insert(too_much, 2)
    assert refresh(too_much)[0] == "DIFFERENTIAL"


def test_what_was_too_much_for_a_large_change_is_tried_for_a_much_smaller_one(
    too_much: ab.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_much.alter_stream_table("late", refresh_mode="differential")
    tried: list[int] = []

    def find_too_much(*given: object) -> None:
        tried.append(1)

    monkeypatch.setattr(look_up_steps, "look_up_rows", find_too_much)
    insert(too_much, 40)
    refresh(too_much)
    assert len(tried) == 1
    insert(too_much, 30)
    refresh(too_much)
    assert len(tried) == 1
    insert(too_much, 5)
    refresh(too_much)
    assert len(tried) == 2
