"""kill -9 at every failpoint of an immediate write, and of a declared group's refresh."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import anabranch as ab
from anabranch.failpoints import COMMIT_POINTS
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises, contents
from tests.crash.stream_scripts import FIRST, SHAPES, meaning, prepare_streams
from tests.crash.test_a_killed_refresh import DECIDED, EVERY, MINUTE, sweep_and_check

pytestmark = [pytest.mark.crash, pytest.mark.rotating(5)]

SOLD = (4, "north", 1, 1, 1)
"""What the script `sell_one` inserts."""
FOLLOWING = [
    *((point, 1) for point in (*COMMIT_POINTS, "refresh.before_member", "refresh.after_member")),
    ("refresh.before_member", 3),
    ("refresh.after_member", 2),
    ("commit.after_pointer", 2),
    ("commit.after_pointer", 4),
]
ON_POSTGRES = [("refresh.after_member", 2), ("commit.after_pointer", 3), ("commit.after_commit", 1)]
APART = {
    "holdings": "SELECT region, COUNT(*) AS n FROM sales GROUP BY region",
    "quotes": "SELECT symbol, MAX(price) AS price FROM prices GROUP BY symbol",
}


def followed(spot: Spot, children: Children, point: str, nth: int) -> None:
    """An immediate diamond: the sale and all three tables are there, or none of it is."""
    with spot.open_duck() as lake:
        prepare_streams(lake, None)
        lake.create_stream_tables(
            [
                {"name": name, "query": query, "refresh_mode": "immediate"}
                for name, query in SHAPES["diamond"].items()
            ]
        )
        before = lake.lsn
    [end] = children.run(spot.duck_job("sell_one", f"{point}=kill@{nth}"))
    assert end.killed, f"{point}@{nth} was not reached: {end}"
    happened = point == "commit.after_commit"
    with spot.open_duck() as lake:
        sales = [*FIRST, SOLD] if happened else FIRST
        assert lake.lsn == before + happened
        assert lake.arrow("sales").num_rows == len(sales)
        assert contents(lake) == meaning("diamond", sales)
        check_promises(lake)
        if not happened:
            lake.insert("sales", [SOLD])
        assert contents(lake) == meaning("diamond", [*FIRST, SOLD])
        spot.clock.advance(MINUTE)
        assert lake.tick().refreshed == ()
        check_promises(lake)
    sweep_and_check(spot)


def some(cases: Sequence[Any]) -> list[Any]:
    """Every third case always, the others with the slow."""
    slow = pytest.mark.slow
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if number % 3 == 0 else slow)
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize(("point", "nth"), some(FOLLOWING))
def test_a_write_and_what_follows_it_happened_together_or_not_at_all(
    sqlite_spot: Spot, children: Children, point: str, nth: int
):
    followed(sqlite_spot, children, point, nth)


@pytest.mark.parametrize(("point", "nth"), ON_POSTGRES)
def test_so_on_postgresql(place, postgres: Callable[[], str], children: Children, point: str, nth: int):
    followed(Spot(place, postgres(), ab.ManualClock()), children, point, nth)


def both(lake: ab.Lake) -> tuple[int, int]:
    """How many sales and which price the two members show."""
    sales = sum(lake.arrow("holdings").column("n").to_pylist())
    return sales, max(lake.arrow("quotes").column("price").to_pylist())


@pytest.mark.parametrize("point", some(EVERY))
def test_a_declared_group_killed_anywhere_moved_whole_or_not_at_all(
    sqlite_spot: Spot, children: Children, point: str
):
    spot = sqlite_spot
    with warnings.catch_warnings(), spot.open_duck() as lake:
        warnings.simplefilter("ignore", ab.Notice)
        prepare_streams(lake, None)
        lake.create_table("prices", "symbol STRING, price BIGINT")
        lake.insert("prices", [("abc", 5)])
        for name, query in APART.items():
            lake.create_stream_table(name, query, schedule="1m")
        lake.create_refresh_group("desk", list(APART), "repeatable_read")
        lake.insert("sales", [SOLD])
        lake.insert("prices", [("abc", 6)])
    spot.clock.advance(MINUTE)
    [end] = children.run(spot.duck_job("tick_once", f"{point}=kill"))
    assert end.killed, f"{point} was not reached: {end}"
    with spot.open_duck() as lake:
        assert both(lake) == ((4, 6) if point in DECIDED else (3, 5))
        assert lake.refresh_groups()[0].epoch == (1 if point in DECIDED else 0)
        assert all(lake.verify(name).ok for name in APART)
        spot.clock.advance(MINUTE)
        lake.tick()
        assert both(lake) == (4, 6)
        assert lake.refresh_groups()[0].epoch == 1
    sweep_and_check(spot)
