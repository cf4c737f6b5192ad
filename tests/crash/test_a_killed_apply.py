"""kill -9 while a project is applied: all of it has happened, or nothing; there is no repair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises
from tests.project.folders import Folder
from tests.project.upheaval import apply_project, prepare, seen

pytestmark = [pytest.mark.crash, pytest.mark.rotating(5)]

POINTS = {
    "refresh.before_member=kill": False,
    "refresh.after_member=kill@3": False,
    "refresh.before_publish=kill": False,
    "commit.after_metadata=kill": False,
    "commit.in_transaction=kill": False,
    "commit.after_pointer=kill@4": False,
    "commit.before_commit=kill": False,
    "commit.after_commit=kill": True,
    "refresh.after_publish=kill": True,
}


@pytest.mark.filterwarnings("ignore::anabranch.Notice")
@pytest.mark.parametrize(("failpoint", "done"), POINTS.items())
def test_an_apply_killed_anywhere_happened_whole_or_not_at_all(
    tmp_path, clock, children: Children, failpoint: str, done: bool
):
    folder = Folder(tmp_path / "shop", clock)
    prepare(folder)
    spot = Spot(folder.path / "lake", None, clock)
    with spot.open_duck() as lake:
        before = seen(lake)
    job = replace(spot.duck_job("apply_project", failpoint), attempt=str(folder.path))
    [end] = children.run(job)
    assert end.killed, end
    with spot.open_duck() as lake:
        assert (seen(lake) == before) is not done
        assert folder.load().plan(lake).empty is done
        check_promises(lake)
        apply_project(lake, str(folder.path))
        assert folder.load().plan(lake).empty
        check_promises(lake)
        lake.maintain()
        check_promises(lake)
