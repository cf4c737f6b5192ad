"""kill -9 at every failpoint of a refresh: a group moved whole or not at all, and the next tick goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

import anabranch as ab
from anabranch.errors import NameTaken, UnknownStreamTable
from anabranch.failpoints import COMMIT_POINTS, REFRESH_POINTS
from tests.crash.children import Children, alone
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises, contents
from tests.crash.reachable import Survey, empty_folders, remembered, survey, table_folders
from tests.crash.stream_scripts import (
    FIRST,
    STREAM_SCRIPTS,
    Contents,
    Row,
    meaning,
    prepare_streams,
)

pytestmark = [pytest.mark.crash, pytest.mark.slow_on("postgres"), pytest.mark.rotating(5)]

STAGING = ("refresh.before_member", "refresh.after_member")
PUBLISHING = (
    "refresh.before_publish",
    *(point for point in COMMIT_POINTS if point.startswith("commit.")),
    "refresh.after_publish",
)
COMMITTING = ("commit.before_transaction", "commit.in_transaction", "commit.after_pointer")
COMMITTING += ("commit.before_commit", "commit.after_commit")
DECIDED = ("commit.after_commit", "refresh.after_publish")
FAILING = ("refresh.before_failure", "refresh.after_failure")
BLOWING = ("refresh.before_blown", "refresh.after_blown")
"""Where a fuse stops a refresh: see the tests of a killed fuse."""

AFTER = {"create_shape": "diamond", "alter_query": "altered", "drop_branch": "remnant"}
"""The stream tables that a script leaves."""
REFUSED = {"create_shape": NameTaken, "drop_branch": UnknownStreamTable}
"""How a script that was done is refused when it is run again."""

CHANGED_FIRST = ("tick_once", "alter_query")
"""Scripts that bring every table of the diamond up to date."""

MINUTE, HOUR = 60, 3600
WEST = (4, "west", 3, 1, 100)


@dataclass(frozen=True)
class Case:
    """What runs, on which stream tables, and where it is killed."""

    script: str
    shape: str
    point: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.script}-{self.shape}-{self.point}@{self.nth}"

    @property
    def failpoints(self) -> str:
        return f"{self.point}=kill@{self.nth}"

    @property
    def decided(self) -> bool:
        return self.point in DECIDED


def once(script: str, shape: str, points: Sequence[str]) -> list[Case]:
    return [Case(script, shape, point) for point in points]


def again(script: str, shape: str, points: Sequence[str], times: int) -> list[Case]:
    return [Case(script, shape, point, nth) for point in points for nth in range(2, times + 1)]


EVERY = (*STAGING, *PUBLISHING)
ITERATING = ("refresh.after_iteration",)
"""Only in a cycle, which tests of its own kill there."""
SINGLE = once("tick_once", "single", EVERY)
CHAIN = once("tick_once", "chain", EVERY) + again("tick_once", "chain", EVERY, 3)
DIAMOND = once("tick_once", "diamond", EVERY)
BETWEEN = again("tick_once", "diamond", STAGING, 3)
BETWEEN += again("tick_once", "diamond", ["commit.after_pointer"], 5)
CREATION = once("create_shape", "diamond", EVERY)
CREATION += again("create_shape", "diamond", STAGING, 3)
CREATION += again("create_shape", "diamond", ["commit.after_pointer"], 5)
ALTER = once("alter_query", "diamond", EVERY)
ALTER += again("alter_query", "diamond", STAGING, 3)
ALTER += again("alter_query", "diamond", ["commit.after_pointer"], 6)
DROP = once("drop_branch", "diamond", COMMITTING)
DROP += again("drop_branch", "diamond", ["commit.after_pointer"], 4)
LIFECYCLE = [*CREATION, *ALTER, *DROP]

ON_POSTGRES = [
    Case("tick_once", "diamond", "refresh.after_member", 2),
    Case("tick_once", "diamond", "commit.after_pointer", 3),
    Case("tick_once", "diamond", "commit.before_commit"),
    Case("tick_once", "diamond", "commit.after_commit"),
    Case("create_shape", "diamond", "commit.before_commit"),
    Case("alter_query", "diamond", "commit.after_pointer", 2),
]


def test_the_points_of_a_refresh_are_all_there_are() -> None:
    """A new failpoint must come into these tests."""
    committing = {point for point in COMMIT_POINTS if point.startswith("commit.")}
    assert {*EVERY, *FAILING, *ITERATING, *BLOWING} == {*REFRESH_POINTS, *committing}


@pytest.mark.parametrize("case", DIAMOND, ids=str)
def test_a_diamond_killed_anywhere_moved_whole_or_not_at_all(
    sqlite_spot: Spot, children: Children, case: Case
):
    die_and_recover(sqlite_spot, children, case)


@pytest.mark.parametrize("case", ON_POSTGRES, ids=str)
def test_so_on_postgresql(place, postgres: Callable[[], str], children: Children, case: Case):
    die_and_recover(Spot(place, postgres(), ab.ManualClock()), children, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SINGLE, *CHAIN, *DIAMOND, *BETWEEN, *LIFECYCLE], ids=str)
def test_every_script_killed_anywhere_happened_whole_or_not_at_all(
    spot: Spot, children: Children, case: Case
):
    die_and_recover(spot, children, case)


def test_a_chain_killed_here_and_there_keeps_what_it_published(sqlite_spot: Spot, children: Children):
    """Crash after crash on one lake: each table of a chain is published by itself."""
    lake = Lineage(sqlite_spot, "chain")
    for case in CHAIN[::5]:
        lake.change()
        lake.die(children, case)
        lake.catch_up()
    lake.sweep()


@pytest.mark.parametrize("script", ["create_shape", "alter_query", "drop_branch"])
def test_a_definition_killed_here_and_there_in_turn_is_there_or_not(
    sqlite_spot: Spot, children: Children, script: str
):
    """Each attempt finds what the dead ones left; only the one that was decided changed anything."""
    lake = Lineage(sqlite_spot, None if script == "create_shape" else "diamond")
    if script in CHANGED_FIRST:
        lake.change()
    for case in [case for case in LIFECYCLE if case.script == script and not case.decided][::2]:
        lake.die(children, case)
    lake.sweep()
    lake.die(children, Case(script, "diamond", "commit.after_commit"))
    lake.catch_up()
    lake.sweep()


@pytest.mark.parametrize("point", FAILING)
@pytest.mark.parametrize("tries", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_failing_refresh_killed_while_it_is_noted_changed_nothing(
    spot: Spot, children: Children, point: str, tries: int
):
    with spot.open_duck() as lake:
        prepare_streams(lake, "diamond")
        lake.insert("sales", [(6, "west", 1, 0, 1)])
    before = meaning("diamond", FIRST)
    for _ in range(tries):
        spot.clock.advance(MINUTE)
        [end] = children.run(spot.duck_job("tick_once", f"{point}=kill"))
        assert end.killed, end
        with spot.open_duck() as lake:
            check_promises(lake)
            assert contents(lake) == before
    noted = tries if point == "refresh.after_failure" else 0
    with spot.open_duck() as lake:
        (branch,) = [each for each in lake.status() if each.name == "by_product"]
        assert branch.consecutive_failures == noted
        failed = [entry for entry in lake.refresh_history() if entry.status in ("FAILED", "ROLLED_BACK")]
        assert len(failed) == 3 * noted
        lake.delete("sales", where="id = 6")
        lake.insert("sales", [WEST])
        spot.clock.advance(MINUTE)
        assert len(lake.tick().refreshed) == 3
        assert contents(lake) == meaning("diamond", [*FIRST, WEST])
        check_promises(lake)
    sweep_and_check(spot)


@pytest.mark.slow
def test_every_point_is_killed_in_turn_on_one_lake_and_the_diamond_goes_on(
    sqlite_spot: Spot, children: Children
):
    """Nobody recovers between the crashes: the debris of all of them is there at the end."""
    lake = Lineage(sqlite_spot, "diamond")
    for case in [*DIAMOND, *BETWEEN]:
        lake.change()
        lake.die(children, case)
    lake.catch_up()
    lake.sweep()


@pytest.mark.slow
@pytest.mark.parametrize("point", ["refresh.after_member", "commit.before_commit", "commit.after_commit"])
def test_on_spark_a_killed_diamond_is_whole_too(sqlite_spot: Spot, spark, point: str):
    with sqlite_spot.open(spark=spark) as lake:
        prepare_streams(lake, "diamond")
        lake.insert("sales", [WEST])
    sqlite_spot.clock.advance(MINUTE)
    assert alone(sqlite_spot.job("tick_once"), f"{point}=kill") == -9
    with sqlite_spot.open(spark=spark) as lake:
        check_promises(lake)
        sales = [*FIRST, WEST] if point in DECIDED else FIRST
        assert contents(lake) == meaning("diamond", sales)
        sqlite_spot.clock.advance(MINUTE)
        assert lake.tick().leads
        assert contents(lake) == meaning("diamond", [*FIRST, WEST])
        check_promises(lake)


# -- the course of one case -----------------------------------------------------------------------


class Lineage:
    """One lake through crashes, and what it must hold."""

    def __init__(self, spot: Spot, shape: str | None) -> None:
        self.spot = spot
        self.shape = shape
        self.sales: list[Row] = list(FIRST)
        self._ids = iter(range(100, 10_000))
        with spot.open_duck() as lake:
            prepare_streams(lake, shape)
        self.shown = self.meant

    @property
    def meant(self) -> Contents:
        """What the stream tables hold once they are up to date."""
        return meaning(self.shape, self.sales)

    def change(self) -> None:
        """Something comes and something goes, and it is due."""
        number = next(self._ids)
        new = (number, f"region {number}", 3, 2, number)
        gone = self.sales.pop(0)
        self.sales.append(new)
        with self.spot.open_duck() as lake, lake.transaction() as tx:
            tx.insert("sales", [new])
            tx.delete("sales", where=f"id = {gone[0]}")
        self.spot.clock.advance(MINUTE)

    def die(self, children: Children, case: Case) -> None:
        """Run the script until it is killed, then look."""
        [end] = children.run(self.spot.duck_job(case.script, case.failpoints, case.shape))
        assert end.killed, f"{case} was not reached: {end}"
        if case.script == "tick_once" and case.shape == "chain":
            published = list(self.meant)[: case.nth if case.decided else case.nth - 1]
            self.shown |= {name: self.meant[name] for name in published}
        elif case.decided:
            self.shape = AFTER.get(case.script, self.shape)
            self.shown = self.meant
        self.look()

    def look(self) -> None:
        """A new process finds everything in its place."""
        with self.spot.open_duck() as lake:
            check_promises(lake)
            assert contents(lake) == self.shown

    def run_again(self, case: Case) -> None:
        """The script once more: it does what the dead one didn't."""
        with self.spot.open_duck() as lake:
            if case.decided and case.script in REFUSED:
                with pytest.raises(REFUSED[case.script]):
                    STREAM_SCRIPTS[case.script](lake, case.shape)
            else:
                STREAM_SCRIPTS[case.script](lake, case.shape)
        self.shape = AFTER.get(case.script, self.shape)
        self.shown = self.meant
        self.look()

    def catch_up(self) -> None:
        """The next tick brings everything up to date, and the one after it has nothing to do."""
        self.spot.clock.advance(MINUTE)
        with self.spot.open_duck() as lake:
            report = lake.tick()
            assert (report.leads, report.failed, report.held) == (True, (), ())
            assert contents(lake) == self.meant
            check_promises(lake)
            self.spot.clock.advance(MINUTE)
            assert lake.tick().refreshed == ()
        self.shown = self.meant

    def sweep(self) -> None:
        """What the dead left goes, their pins run out, and everything still holds."""
        sweep_and_check(self.spot, caught_up=self.shown == self.meant)
        self.look()


def die_and_recover(spot: Spot, children: Children, case: Case) -> None:
    lake = Lineage(spot, None if case.script == "create_shape" else case.shape)
    if case.script in CHANGED_FIRST:
        lake.change()
    lake.die(children, case)
    if case.script != "tick_once":
        lake.run_again(case)
        lake.change()
    lake.catch_up()
    lake.sweep()


def sweep_and_check(spot: Spot, *, caught_up: bool = True) -> None:
    """Everything that nobody needs goes at once, also what only the dead held."""
    assert not survey(spot.location, spot.catalog).missing
    spot.clock.advance(HOUR)
    with spot.open_duck(snapshot_retention="0s", orphan_grace="0s") as lake:
        assert (lake.maintain().floor_lsn == lake.lsn) is caught_up
        assert lake.maintain().files_deleted == 0
    assert survey(spot.location, spot.catalog) == Survey(set(), set())
    assert table_folders(spot.location) == set(remembered(spot.location, spot.catalog, dropped=False))
    assert not empty_folders(spot.location)
