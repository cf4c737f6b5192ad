"""kill -9 at every failpoint of a commit: all or nothing, no repair, applied once, nothing left over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import anabranch as ab
from anabranch.failpoints import COMMIT_POINTS
from tests.crash import scripts
from tests.crash.children import Children, alone
from tests.crash.conftest import Spot
from tests.crash.model import Model, check_history, state_of
from tests.crash.reachable import Survey, remembered, stored_files, survey, table_folders

pytestmark = [pytest.mark.crash, pytest.mark.slow_on("postgres"), pytest.mark.rotating(5)]

GRACE = 24 * 3600
DECIDED = COMMIT_POINTS.index("commit.after_commit")


@dataclass(frozen=True)
class Write:
    """A script for the lake, and what it means."""

    script: str
    meaning: Callable[[Any], None]

    def again(self, lake: ab.Lake, attempt: str) -> int | None:
        """Run the same script with the same attempt."""
        return scripts.SCRIPTS[self.script](lake, attempt)


INSERT = Write("insert_once", scripts.one_table)
FIVE = Write("commit_five", scripts.five_tables)
WRITES = [pytest.param(INSERT, id="insert"), pytest.param(FIVE, id="five_tables")]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_commit_killed_anywhere_happened_whole_or_not_at_all(
    spot: Spot, children: Children, point: str, write: Write
):
    die_and_check(spot, children, write, f"{point}=kill", decided=COMMIT_POINTS.index(point) >= DECIDED)


@pytest.mark.parametrize("nth", [2, 3, 4, 5])
def test_a_commit_killed_between_two_pointers_did_not_happen(sqlite_spot: Spot, children: Children, nth: int):
    die_and_check(sqlite_spot, children, FIVE, f"commit.after_pointer=kill@{nth}", decided=False)


@pytest.mark.parametrize("nth", [2, 4, 6])
def test_a_transaction_killed_after_some_of_its_verbs_did_not_happen(
    sqlite_spot: Spot, children: Children, nth: int
):
    die_and_check(sqlite_spot, children, FIVE, f"write.after_stage=kill@{nth}", decided=False)


@pytest.mark.parametrize(
    ("point", "decided"), [("commit.before_commit", False), ("commit.after_commit", True)]
)
def test_the_environment_can_ask_for_the_kill(sqlite_spot: Spot, point: str, decided: bool):
    model = prepared(sqlite_spot)
    code = alone(sqlite_spot.job("commit_five", attempt="mine"), f"{point}=kill")
    assert code == -9
    if decided:
        apply(model, FIVE)
    with sqlite_spot.open() as lake:
        assert state_of(lake) == model.state
        assert (lake.committed("mine") is not None) is decided


def test_a_commit_that_nothing_kills_says_its_lsn(spot: Spot, children: Children):
    model = prepared(spot)
    newest = max(model.history)
    [end] = children.run(spot.job("commit_five", attempt="mine"))
    assert (end.killed, end.error, end.result) == (False, None, newest + 1)
    apply(model, FIVE)
    with spot.open() as lake:
        check_history(lake, model.history)


def test_every_point_is_killed_in_turn_on_one_lake_and_the_lake_goes_on(
    sqlite_spot: Spot, children: Children
):
    """Crash after crash without a clean shutdown between: debris must not add up to damage."""
    model = prepared(sqlite_spot)
    for point in COMMIT_POINTS:
        [end] = children.run(sqlite_spot.job("insert_once", f"{point}=kill", attempt=point))
        assert end.killed
        if COMMIT_POINTS.index(point) >= DECIDED:
            apply(model, INSERT)
    with sqlite_spot.open() as lake:
        check_history(lake, model.history)
        for point in COMMIT_POINTS:
            before = lake.lsn
            INSERT.again(lake, point)
            if lake.lsn != before:
                apply(model, INSERT)
        check_history(lake, model.history)
        assert state_of(lake)["orders"][(10, "x")] == len(COMMIT_POINTS)
    sweep_and_check(sqlite_spot)


def test_what_a_crash_left_stays_for_the_whole_grace_period(spot: Spot, children: Children):
    """Nobody can tell the debris of a dead process from the files of one that still writes."""
    prepared(spot)
    children.run(spot.job("commit_five", "commit.before_commit=kill"))
    debris = survey(spot.location, spot.catalog).unneeded
    assert debris
    with spot.open() as lake:
        lake.maintain()
        spot.clock.advance(GRACE - 1)
        assert lake.maintain().files_deleted == 0
        assert survey(spot.location, spot.catalog).unneeded == debris
        spot.clock.advance(1)
        assert lake.maintain().files_deleted == len(debris)
    assert survey(spot.location, spot.catalog) == Survey(set(), set())


# -- the course of one case -----------------------------------------------------------------------


def prepared(spot: Spot) -> Model:
    with spot.open() as lake:
        return scripts.prepare(lake)


def apply(model: Model, write: Write) -> None:
    write.meaning(model)
    model.committed(max(model.history) + 1)


def die_and_check(spot: Spot, children: Children, write: Write, failpoints: str, *, decided: bool) -> None:
    model = prepared(spot)
    [end] = children.run(spot.job(write.script, failpoints, attempt="mine"))
    assert end.killed, f"{failpoints} was not reached: {end}"

    if decided:
        apply(model, write)
    newest = max(model.history)
    with spot.open() as lake:
        assert (lake.lsn, state_of(lake)) == (newest, model.state)
        assert lake.committed("mine") == (newest if decided else None)

        # Somebody else writes first, then the script is run again, and once more.
        model.together(lake, lambda tx: tx.insert("lines", [(99, "later")]))
        answer = write.again(lake, "mine")
        if decided:
            assert answer == newest
        else:
            apply(model, write)
            assert answer == lake.lsn == newest + 2
        assert write.again(lake, "mine") == answer == lake.committed("mine")
        model.together(lake, lambda tx: tx.truncate("orders"))
        assert state_of(lake) == model.state
    sweep_and_check(spot)
    with spot.open() as lake:
        check_history(lake, model.history)


def sweep_and_check(spot: Spot) -> None:
    """What nobody points at goes after the grace period; everything else stays."""
    before, found = stored_files(spot.location), survey(spot.location, spot.catalog)
    assert not found.missing
    with spot.open() as lake:
        assert lake.maintain().files_marked == len(found.unneeded)
        assert stored_files(spot.location) == before
        spot.clock.advance(GRACE)
        assert lake.maintain().files_deleted == len(found.unneeded)
    assert stored_files(spot.location) == before - found.unneeded
    assert survey(spot.location, spot.catalog) == Survey(set(), set())
    known = remembered(spot.location, spot.catalog, dropped=False)
    known |= remembered(spot.location, spot.catalog, dropped=True)
    assert table_folders(spot.location) == set(known)
