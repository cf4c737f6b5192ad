"""A cycle that is killed or fails in mid-iteration holds what it held, or all of the next fixed point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import anabranch as ab
from anabranch.failpoints import Failpoints
from tests.crash.children import Children, alone
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises, contents
from tests.crash.stream_scripts import FIRST_EDGES, create_cycle, prepare_cycle
from tests.crash.test_a_killed_refresh import DECIDED, EVERY, MINUTE, STAGING, sweep_and_check
from tests.recursion.graphs import MUTUAL, Contents, Pair
from tests.streams.shop import actions, one

pytestmark = [pytest.mark.crash, pytest.mark.rotating(5)]

ITERATED = "refresh.after_iteration"
CIRCULAR = {"allow_circular": "true"}
GONE, NEW = (2, 3), [(2, 7), (7, 3), (6, 1), (8, 9)]
LATER = [*(edge for edge in FIRST_EDGES if edge != GONE), *NEW]


def meaning(edges: list[Pair]) -> Contents:
    return MUTUAL.meaning(Counter(edges))


def change(lake: ab.Lake) -> None:
    """An edge goes, a detour comes, and with it a circle: four iterations or more."""
    with lake.transaction() as tx:
        tx.delete("edges", where="a = 2 AND b = 3")
        tx.insert("edges", NEW)


@dataclass(frozen=True)
class Case:
    """What runs, and where it is killed."""

    script: str
    point: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.script}-{self.point}@{self.nth}"


ANYWHERE = [Case("tick_once", point) for point in (*EVERY, ITERATED)]
ANYWHERE += [Case("tick_once", point, 2) for point in (*STAGING, "commit.after_pointer")]
ANYWHERE += [Case("tick_once", ITERATED, 3)]
ANYWHERE += [Case("tick_through_files", ITERATED, nth) for nth in (1, 3)]
HERE_AND_THERE = [*(case for case in ANYWHERE if case.point == ITERATED), *ANYWHERE[1:-2:4]]
CREATION = [Case("create_cycle", ITERATED, 3), Case("create_cycle", "commit.before_commit")]
CREATION += [Case("create_cycle", "commit.after_commit")]


@pytest.mark.parametrize("case", HERE_AND_THERE, ids=str)
def test_a_killed_cycle_moved_whole_or_not_at_all(sqlite_spot: Spot, children: Children, case: Case):
    die_and_recover(sqlite_spot, children, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in ANYWHERE if case not in HERE_AND_THERE], ids=str)
def test_a_cycle_killed_anywhere_moved_whole_or_not_at_all(sqlite_spot: Spot, children: Children, case: Case):
    die_and_recover(sqlite_spot, children, case)


@pytest.mark.parametrize("case", CREATION, ids=str)
def test_a_cycle_killed_while_it_is_made_is_there_whole_or_not_at_all(
    sqlite_spot: Spot, children: Children, case: Case
):
    with sqlite_spot.open_duck() as lake:
        prepare_cycle(lake, create=False)
    kill(sqlite_spot, children, case)
    with sqlite_spot.open_duck(**CIRCULAR) as lake:
        check_promises(lake)
        assert contents(lake) == (meaning(FIRST_EDGES) if case.point in DECIDED else {})
        if case.point not in DECIDED:
            create_cycle(lake, None)
        change(lake)
    catch_up(sqlite_spot)


def test_so_on_postgresql(place, postgres: Callable[[], str], children: Children):
    die_and_recover(Spot(place, postgres(), ab.ManualClock()), children, Case("tick_once", ITERATED, 3))


@pytest.mark.slow
def test_on_spark_a_cycle_killed_in_mid_iteration_is_whole_too(sqlite_spot: Spot, spark):
    with sqlite_spot.open(spark=spark, **CIRCULAR) as lake:
        prepare_cycle(lake)
        change(lake)
    sqlite_spot.clock.advance(MINUTE)
    assert alone(sqlite_spot.job("tick_through_files"), f"{ITERATED}=kill@3") == -9
    with sqlite_spot.open(spark=spark) as lake:
        check_promises(lake)
        assert contents(lake) == meaning(FIRST_EDGES)
        sqlite_spot.clock.advance(MINUTE)
        assert len(lake.tick().refreshed) == 2
        assert contents(lake) == meaning(LATER)
        check_promises(lake)


def die_and_recover(spot: Spot, children: Children, case: Case) -> None:
    with spot.open_duck(**CIRCULAR) as lake:
        prepare_cycle(lake)
        change(lake)
    spot.clock.advance(MINUTE)
    kill(spot, children, case)
    with spot.open_duck() as lake:
        check_promises(lake)
        assert contents(lake) == meaning(LATER if case.point in DECIDED else FIRST_EDGES)
    catch_up(spot)


def kill(spot: Spot, children: Children, case: Case) -> None:
    [end] = children.run(spot.duck_job(case.script, f"{case.point}=kill@{case.nth}", **CIRCULAR))
    assert end.killed, f"{case} was not reached: {end}"


def catch_up(spot: Spot) -> None:
    """The next tick is right, the one after it has nothing to do, and nothing is left of the dead."""
    spot.clock.advance(MINUTE)
    with spot.open_duck() as lake:
        report = lake.tick()
        assert (report.leads, report.failed, report.held) == (True, (), ())
        assert contents(lake) == meaning(LATER)
        check_promises(lake)
        spot.clock.advance(MINUTE)
        assert lake.tick().refreshed == ()
    sweep_and_check(spot)


# -- failing, and being looked at -----------------------------------------------------------------


def test_a_failure_in_the_third_pass_leaves_everything_as_it_was(sqlite_spot: Spot):
    with sqlite_spot.open_duck(**CIRCULAR) as lake:
        prepare_cycle(lake)
        change(lake)
        before = lake.lsn
    sqlite_spot.clock.advance(MINUTE)
    with sqlite_spot.open_duck(failpoints=Failpoints.from_text(f"{ITERATED}=raise@3")) as lake:
        assert [name for name, _ in lake.tick().failed] == ["reach"]
        assert (lake.lsn, contents(lake)) == (before, meaning(FIRST_EDGES))
        assert sorted(actions(lake)[-2:]) == [
            ("reach", "DIFFERENTIAL", "FAILED"),
            ("steps", "DIFFERENTIAL", "ROLLED_BACK"),
        ]
        assert {one(lake, name).status for name in MUTUAL.queries} == {"ACTIVE"}
        check_promises(lake)
    catch_up(sqlite_spot)


def test_who_reads_during_the_iteration_sees_what_was_there_before(sqlite_spot: Spot):
    seen: list[Contents] = []

    def look(event) -> None:
        if event.kind == "refresh_iterated":
            with sqlite_spot.open_duck() as reader:
                seen.append(contents(reader))

    with sqlite_spot.open_duck(**CIRCULAR) as lake:
        prepare_cycle(lake)
        change(lake)
    sqlite_spot.clock.advance(MINUTE)
    with sqlite_spot.open_duck(observer=look) as lake:
        lake.tick()
        assert contents(lake) == meaning(LATER)
    assert len(seen) >= 3
    assert all(each == meaning(FIRST_EDGES) for each in seen)
