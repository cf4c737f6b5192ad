"""What a look at the stream tables costs the catalog."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from anabranch.ledger.stream_tables import read_streams
from tests.streams.shop import sell, stock


@pytest.fixture
def shop(duck_lake):
    stock(duck_lake)
    return duck_lake


def create(lake, *numbers: int) -> None:
    """Each at an lsn of its own, up to which it reflects the sales."""
    for number in numbers:
        lake.create_stream_table(f"s{number}", f"SELECT id FROM sales WHERE id > {number}")


def asked(lake) -> int:
    """How many statements a status runs."""
    said: list[str] = []

    def look(_connection, _cursor, statement, *_rest):
        said.append(statement)

    engine = lake._context.catalog.database.engine
    event.listen(engine, "before_cursor_execute", look)
    lake.status()
    event.remove(engine, "before_cursor_execute", look)
    return len(said)


def reflected(lake) -> set[int]:
    """Up to which lsns the stream tables reflect what they read."""
    _, streams = lake._context.catalog.lake_version_and_query(read_streams)
    return {lsn for stream in streams.values() for lsn in stream.frontier.values()}


def test_those_that_are_up_to_date_cost_no_statement_each(shop):
    create(shop, 1, 2)
    few = asked(shop)
    create(shop, 3, 4, 5, 6)
    assert len(reflected(shop)) == 6
    assert asked(shop) == few


def test_those_that_are_behind_are_still_asked_about(shop, clock):
    create(shop, 1, 2)
    clock.advance(30)
    sell(shop, 9)
    clock.advance(12)
    assert [each.lag_seconds for each in shop.status()] == [12, 12]
