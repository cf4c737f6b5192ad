"""Maintenance killed anywhere loses nothing, and the next round finishes what it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.failpoints import MAINTENANCE_POINTS
from tests.crash import scripts
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.model import Model, check_history, state_of
from tests.crash.reachable import Survey, empty_folders, remembered, survey, table_folders

pytestmark = [pytest.mark.crash, pytest.mark.slow_on("postgres"), pytest.mark.rotating(5)]

AT_ONCE = {"snapshot_retention": "0s", "orphan_grace": "0s"}


def neglected(spot: Spot, children: Children) -> Model:
    """A lake with old versions, a dropped table, many small files, and debris of two crashes."""
    with spot.open() as lake:
        model = scripts.prepare(lake)
        for number in range(3):
            model.together(lake, lambda tx, number=number: tx.insert("orders", [(number, "small")]))
        model.together(lake, lambda tx: tx.truncate("stock"))
        model.together(lake, lambda tx: tx.drop_table("old"))
    children.run(
        spot.job("insert_once", "commit.before_commit=kill"),
        spot.job("commit_five", "write.after_stage=kill@2"),
    )
    return model


def script_for(point: str) -> str:
    return "compact" if point.startswith("compact.") else "maintain"


@pytest.mark.parametrize("point", MAINTENANCE_POINTS)
def test_maintenance_killed_anywhere_loses_nothing_and_the_next_round_finishes_it(
    spot: Spot, children: Children, point: str
):
    model = neglected(spot, children)
    [end] = children.run(spot.job(script_for(point), f"{point}=kill", **AT_ONCE))
    assert end.killed, f"{point} was not reached: {end}"
    finish_and_check(spot, model)


@pytest.mark.parametrize("nth", [2, 5, 12, 20])
@pytest.mark.parametrize("point", ["sweep.before_delete", "sweep.after_delete"])
def test_a_sweep_killed_in_the_middle_is_finished_by_the_next(
    sqlite_spot: Spot, children: Children, point: str, nth: int
):
    model = neglected(sqlite_spot, children)
    [end] = children.run(sqlite_spot.job("maintain", f"{point}=kill@{nth}", **AT_ONCE))
    assert end.killed
    finish_and_check(sqlite_spot, model)


def test_a_sweep_killed_at_its_last_file_leaves_no_empty_folder_in_the_end(
    sqlite_spot: Spot, children: Children
):
    """The file is gone, but not the folder of the table that it belonged to."""
    model = neglected(sqlite_spot, children)
    found = survey_after_expiry(sqlite_spot)
    [end] = children.run(
        sqlite_spot.job("maintain", f"sweep.after_delete=kill@{len(found.unneeded)}", **AT_ONCE)
    )
    assert end.killed
    assert not survey(sqlite_spot.location, None).unneeded
    finish_and_check(sqlite_spot, model)


def survey_after_expiry(spot: Spot) -> Survey:
    with spot.open(snapshot_retention="0s", orphan_grace="1h") as lake:
        lake.maintain()
    return survey(spot.location, spot.catalog)


def test_the_folder_of_a_write_that_died_goes_with_its_files(sqlite_spot: Spot):
    """Spark writes into a folder of its own for every write, with more folders in it until it is done."""
    with sqlite_spot.open(**AT_ONCE) as lake:
        scripts.prepare(lake)
        lake.maintain()
        table = min(remembered(sqlite_spot.location, None, dropped=False).values())
        write = Path(table.removeprefix("file://")).parents[1] / "data" / ("f" * 32)
        (write / "_temporary" / "0").mkdir(parents=True)
        (write / "part-00000.parquet").write_bytes(b"PAR1")
        (write / "_temporary" / "0" / "part-00001.parquet").write_bytes(b"PAR1")
        assert lake.maintain().files_deleted == 2
        assert not write.exists()
    assert not empty_folders(sqlite_spot.location)


def test_two_rounds_of_maintenance_at_once_do_no_harm(spot: Spot, children: Children):
    model = neglected(spot, children)
    ends = children.run(*[spot.job("maintain", **AT_ONCE)] * 3)
    assert [end.error for end in ends] == [None] * 3
    finish_and_check(spot, model)


def test_maintenance_beside_writers_takes_nothing_that_they_need(spot: Spot, children: Children):
    """With a grace period that covers them: writers never see a file vanish."""
    model = neglected(spot, children)
    keep = {"snapshot_retention": "0s", "orphan_grace": "1h"}
    jobs = [spot.job("insert_once", **keep), spot.job("maintain", **keep)] * 3
    ends = children.run(*jobs)
    assert [end.error for end in ends] == [None] * 6
    for end in ends[::2]:
        assert isinstance(end.result, int)
        scripts.one_table(model)
    with spot.open() as lake:
        assert state_of(lake) == model.state
    assert not survey(spot.location, spot.catalog).missing


def finish_and_check(spot: Spot, model: Model) -> None:
    assert not survey(spot.location, spot.catalog).missing
    with spot.open() as lake:
        assert state_of(lake) == model.state
        newest = lake.lsn
        assert newest == max(model.history)
    with spot.open(**AT_ONCE) as lake:
        upkeep = lake.maintain()
        assert upkeep.floor_lsn == newest
        again = lake.maintain()
        assert (again.versions_expired, again.tables_forgotten, again.files_deleted) == (0, 0, 0)
    assert survey(spot.location, spot.catalog) == Survey(set(), set())
    assert not remembered(spot.location, spot.catalog, dropped=True)
    assert table_folders(spot.location) == set(remembered(spot.location, spot.catalog, dropped=False))
    assert not empty_folders(spot.location)
    with spot.open() as lake:
        check_history(lake, model.history, floor=newest)
        model.together(lake, scripts.one_table)
        check_history(lake, model.history, floor=newest)
