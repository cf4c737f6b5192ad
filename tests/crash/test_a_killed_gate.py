"""kill -9 while sources are gated and ungated: said whole or not at all, and never without the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

import anabranch as ab
from anabranch.failpoints import COMMIT_POINTS
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises, contents
from tests.crash.stream_scripts import FIRST, STREAM_SCRIPTS, meaning, prepare_streams

pytestmark = pytest.mark.crash

DECIDED = "commit.after_commit"
ALONE = [
    point for point in COMMIT_POINTS if not point.startswith("write.") and point != "commit.after_pointer"
]
FOURTH = (4, "north", 1, 1, 1)


def said(lake: ab.Lake) -> tuple[bool, list[datetime | None], int]:
    """Whether the sales are gated, how far they are, how many there are."""
    gated = any(gate.gated for gate in lake.source_gates())
    return gated, [each.watermark for each in lake.watermarks()], lake.arrow("sales").num_rows


def die(spot: Spot, children: Children, script: str, point: str) -> None:
    [end] = children.run(spot.duck_job(script, f"{point}=kill"))
    assert end.killed, f"{point} was not reached: {end}"


def load_and_die(spot: Spot, children: Children, point: str) -> None:
    with spot.open_duck() as lake:
        prepare_streams(lake, "single")
        lake.gate_source("sales")
    die(spot, children, "load_and_ungate", point)
    done = (False, [datetime(2030, 1, 1, tzinfo=UTC)], 4)
    with spot.open_duck() as lake:
        assert said(lake) == (done if point == DECIDED else (True, [], 3))
        spot.clock.advance(60)
        lake.tick()
        sales = [*FIRST, FOURTH] if point == DECIDED else FIRST
        assert contents(lake) == meaning("single", sales)
        if point != DECIDED:
            STREAM_SCRIPTS["load_and_ungate"](lake, None)
        assert said(lake) == done
        spot.clock.advance(60)
        lake.tick()
        assert contents(lake) == meaning("single", [*FIRST, FOURTH])
        check_promises(lake)


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_the_last_batch_and_its_ungating_are_there_together_or_not_at_all(
    sqlite_spot: Spot, children: Children, point: str
):
    load_and_die(sqlite_spot, children, point)


@pytest.mark.parametrize("point", ["commit.after_pointer", "commit.before_commit", DECIDED])
def test_so_on_postgresql(place, postgres: Callable[[], str], children: Children, point: str):
    load_and_die(Spot(place, postgres(), ab.ManualClock()), children, point)


@pytest.mark.parametrize("script", ["gate", "ungate"])
def test_a_gate_killed_anywhere_is_shut_or_open(sqlite_spot: Spot, children: Children, script: str):
    """Point after point on one lake; each time the script is run again, and does what the dead one didn't."""
    with sqlite_spot.open_duck() as lake:
        prepare_streams(lake, "single")
    before = {"gate": "ungate", "ungate": "gate"}[script]
    for point in ALONE:
        with sqlite_spot.open_duck() as lake:
            STREAM_SCRIPTS[before](lake, None)
        die(sqlite_spot, children, script, point)
        with sqlite_spot.open_duck() as lake:
            assert said(lake)[0] is ((script == "gate") is (point == DECIDED))
            STREAM_SCRIPTS[script](lake, None)
            assert said(lake)[0] is (script == "gate")
            check_promises(lake)
