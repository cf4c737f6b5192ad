"""Applying a project that fails anywhere, in its own process or by others, leaves the lake as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

import anabranch as ab
from anabranch.errors import PlanOutdated
from anabranch.failpoints import COMMIT_POINTS, EVERY_POINT, REFRESH_POINTS, FailpointReached, Failpoints
from tests.crash.promises import check_promises
from tests.project.folders import Folder
from tests.project.upheaval import apply_project, prepare, seen

pytestmark = pytest.mark.rotating(6)

AFTERWARDS = {"commit.after_commit", "refresh.after_publish"}
"""Where all has happened already."""
NEVER = {"write.before_stage", "write.after_stage"}
HIT = [point for point in (*COMMIT_POINTS, *REFRESH_POINTS[:5]) if point not in NEVER]


@pytest.fixture
def changing(tmp_path, clock):
    """A project whose files were changed since they were applied."""
    folder = Folder(tmp_path / "shop", clock)
    prepare(folder)
    return folder


def hits(folder: Folder) -> Counter[str]:
    """How often an apply passes each failpoint."""
    count: Counter[str] = Counter()
    armed = {point: (lambda point=point: count.update([point])) for point in EVERY_POINT}
    with folder.connect(failpoints=Failpoints(armed)) as lake:
        count.clear()
        apply_project(lake, str(folder.path))
    return count


def once(act: Callable[[], object]) -> Callable[[], None]:
    """The act, the first time that it is called."""
    left = [act]

    def call() -> None:
        if left:
            left.pop()()

    return call


def test_an_apply_passes_the_points_at_which_it_is_made_to_fail(changing):
    count = hits(changing)
    passed = {point for point in count if not point.startswith("migrate")}
    assert passed >= set(HIT) - {"refresh.after_iteration"}
    # One publication, whatever it holds.
    assert count["commit.before_commit"] == count["refresh.before_publish"] == 1
    assert count["commit.after_pointer"] > 5


@pytest.mark.parametrize("point", [point for point in HIT if point != "refresh.after_iteration"])
@pytest.mark.parametrize("last", [False, True], ids=["at once", "late"])
def test_an_apply_that_fails_changes_nothing_and_can_be_repeated(changing, tmp_path, clock, point, last):
    """At the first and at the last time that it comes by."""
    times = 1
    if last:
        other = Folder(tmp_path / "other", clock)
        prepare(other)
        times = hits(other)[point]
    with changing.connect() as lake:
        before = seen(lake)
    failpoints = Failpoints.from_text(f"{point}=raise@{times}")
    with changing.connect(failpoints=failpoints) as lake, pytest.raises(FailpointReached):
        apply_project(lake, str(changing.path))
    with changing.connect() as lake:
        if point in AFTERWARDS:
            assert changing.load().plan(lake).empty
        else:
            assert seen(lake) == before
            check_promises(lake)
            assert not changing.load().plan(lake).empty
        apply_project(lake, str(changing.path))
        assert changing.load().plan(lake).empty
        assert [each.name for each in lake.status()] == ["back", "big", "by_product", "by_region"]
        check_promises(lake)


MEANWHILE = {
    "an option": lambda lake: lake.alter_stream_table("by_product", schedule="3m"),
    "a query": lambda lake: lake.alter_stream_table(
        "by_product", query="SELECT product, SUM(amount) AS revenue FROM sales WHERE id > 1 GROUP BY product"
    ),
    "a new stream table": lambda lake: lake.create_stream_table("back", "SELECT 1 AS total"),
    "a drop": lambda lake: lake.drop_stream_table("summary"),
    "a group": lambda lake: lake.create_refresh_group("theirs", ["by_region", "by_product"]),
    "a new source": lambda lake: lake.create_table("returns", "id BIGINT, amount DECIMAL(12, 2)"),
}


@pytest.mark.parametrize("act", MEANWHILE.values(), ids=MEANWHILE)
def test_a_change_while_a_plan_is_applied_is_noticed(changing, act):
    """Just before the commit, when everything was decided and staged."""
    failpoints = Failpoints()
    with changing.connect(failpoints=failpoints) as lake, changing.connect() as other:
        project = changing.load()
        plan = project.plan(lake)
        failpoints.arm("commit.before_transaction", once(lambda: act(other)))
        with pytest.raises(ab.AnabranchError) as caught:
            project.apply(lake, plan)
        assert isinstance(caught.value, PlanOutdated) or "theirs" in str(caught.value)
        assert [each.group_name for each in lake.refresh_groups()] in ([], ["theirs"])
        assert "big" not in [each.name for each in lake.status()]
        check_promises(lake)


def test_rows_and_refreshes_while_a_plan_is_applied_are_taken_in(changing):
    failpoints = Failpoints()
    with changing.connect(failpoints=failpoints) as lake, changing.connect() as other:

        def meanwhile() -> None:
            other.insert("sales", [(5, "west", 1, 1, 100)])
            other.refresh_stream_table("summary")

        failpoints.arm("commit.before_transaction", once(meanwhile))
        project = changing.load()
        project.apply(lake, project.plan(lake))
        assert project.plan(lake).empty
        assert {"region": "west", "revenue": 100, "many": 1, "most": 100} in lake.arrow("big").to_pylist()
        check_promises(lake)


def test_two_who_apply_the_same_do_no_harm(changing):
    failpoints = Failpoints()
    with changing.connect(failpoints=failpoints) as lake, changing.connect() as other:
        failpoints.arm("commit.before_transaction", once(lambda: apply_project(other, str(changing.path))))
        apply_project(lake, str(changing.path))
        assert changing.load().plan(lake).empty
        assert lake.lsn == other.lsn
        check_promises(lake)
