"""Steps of a change that can have no rows are not computed."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.large_tables import tables_are_large

ALONE = """SELECT c.region, count(*) AS n, sum(c.balance) AS total FROM customers c
           WHERE 2 * c.balance > 20 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
           GROUP BY c.region"""
"""Its condition is judged by the engine alone."""
PLAIN = ALONE.replace("2 * c.balance > 20", "c.balance > 10")


@pytest.fixture
def lake(place, clock):
    """Customers and orders that count as large, kept without computing changes in this process."""
    with tables_are_large(), duck_lake(place, clock=clock, driver_rows=0) as opened:
        opened.create_table("customers", "id BIGINT, region STRING, balance BIGINT")
        opened.create_table("orders", "id BIGINT, customer BIGINT")
        opened.insert("customers", [(1, "north", 5), (2, "north", 50), (3, "south", 70)])
        opened.insert("orders", [(1, 1)])
        opened.create_stream_table("alone", ALONE, refresh_mode="differential", schedule=None)
        opened.create_stream_table("plain", PLAIN, refresh_mode="differential", schedule=None)
        yield opened


def rows(lake: ab.Lake, name: str) -> list[dict[str, object]]:
    return sorted(lake.arrow(name).to_pylist(), key=str)


def statements_of(lake: ab.Lake, name: str, *orders: tuple[int, int]) -> int:
    """How many statements a refresh takes after some orders came."""
    lake.insert("orders", list(orders))
    before = lake.statements_run
    assert lake.refresh_stream_table(name).action == "DIFFERENTIAL"
    found = lake.statements_run - before
    assert lake.verify(name).ok
    return found


@pytest.mark.parametrize(("name", "statements"), [("alone", 1), ("plain", 0)])
def test_what_no_row_gets_to_is_not_asked_for(lake: ab.Lake, name: str, statements: int) -> None:
    before = rows(lake, name)
    # The first customer's balance is too low: nobody is left after the first step.
    assert statements_of(lake, name, (2, 1)) == statements
    assert rows(lake, name) == before
    assert statements_of(lake, name, (3, 2)) > statements
    assert rows(lake, name) == [{"region": "south", "n": 1, "total": 70}]
