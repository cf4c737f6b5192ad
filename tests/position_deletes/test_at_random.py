"""Random histories in which every row that goes is marked: every version is as a model says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.laws.histories import WITH_SPARK, histories
from tests.laws.model import Step, bag_of
from tests.laws.player import TABLES, Player
from tests.laws.test_histories import CORNERS
from tests.position_deletes.forced import elsewhere, marking_always
from tests.streams.worlds import live_through

pytestmark = pytest.mark.rotating(3)

LAW = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check(steps: list[Step]) -> None:
    """Play a history; every version and every change between two is right, for us and for pyiceberg."""
    place = Path(tempfile.mkdtemp(prefix="anabranch-marks-"))
    try:
        kept = {"snapshot_retention": "0s", "orphan_grace": "0s"}
        with duck_lake(place, clock=ab.ManualClock(), **kept) as lake, marking_always():
            player = Player(lake)
            player.play(steps)
            player.check_contents()
            player.check_changes()
            player.check_frames("t", player.lsns[0], player.lsns[-1])
            for table in TABLES:
                assert bag_of(elsewhere(lake, table)) == player.at[player.lsns[-1]][table]
    finally:
        shutil.rmtree(place)


@settings(LAW, max_examples=20)
@given(histories(*WITH_SPARK, longest=12))
def test_every_version_of_a_history_with_marks_is_as_the_model_says(steps):
    check(steps)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(LAW, max_examples=1000)
@given(histories(*WITH_SPARK, longest=30))
def test_every_version_of_many_histories_with_marks_is_as_the_model_says(steps):
    check(steps)


@pytest.mark.parametrize("steps", CORNERS.values(), ids=CORNERS)
def test_a_corner_with_marks_is_as_the_model_says(steps):
    check(steps)


@pytest.mark.filterwarnings("ignore::anabranch.errors.Notice")
@pytest.mark.parametrize("seed", range(6))
def test_stream_tables_over_marked_rows_are_their_queries_at_every_version(place, seed):
    clock = ab.ManualClock()
    with duck_lake(place, clock=clock) as lake, marking_always():
        assert live_through(lake, clock, seed).checked
