"""For random histories: contents at every lsn equal a model, and changes(a, b) lead from a to b."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import anabranch as ab
from tests.laws.histories import WITH_SPARK, WITHOUT_SPARK, histories
from tests.laws.model import Compact, Delete, Insert, Maintain, Merge, Step, Together, Truncate, Update
from tests.laws.player import TABLES, Player

LAW = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@contextmanager
def _player(spark: SparkSession | None = None, **lake_settings: object) -> Iterator[Player]:
    """A fresh lake in which nothing old is kept but what a snapshot holds."""
    place = Path(tempfile.mkdtemp(prefix="anabranch-law-"))
    try:
        lake_settings |= {"snapshot_retention": "0s", "orphan_grace": "0s"}
        with ab.connect(place, spark=spark, clock=ab.ManualClock(), **lake_settings) as lake:
            yield Player(lake)
    finally:
        shutil.rmtree(place)


def _check_without_spark(steps: list[Step]) -> None:
    with _player() as player:
        player.play(steps)
        player.check_contents()
        player.check_changes()
        assert not player.lake._context.engine.is_started


def _check_with_spark(
    spark: SparkSession, steps: list[Step], data: st.DataObject, rewrite_bytes: int
) -> None:
    with _player(spark, driver_rewrite_bytes=rewrite_bytes) as player:
        player.play(steps)
        player.check_contents()
        player.check_changes()
        lsns = player.lsns
        event(f"{len(lsns)} lsns")
        a = data.draw(st.integers(0, len(lsns) - 1), label="since")
        b = data.draw(st.integers(a, len(lsns) - 1), label="until")
        player.check_frames(data.draw(st.sampled_from(TABLES), label="table"), lsns[a], lsns[b])


REWRITE_BYTES = st.sampled_from((0, 1 << 20))


@settings(LAW, max_examples=20)
@given(histories(*WITHOUT_SPARK, longest=12))
@example([Insert("t", ((1, 1, 1),)), Truncate("t"), Insert("t", ((1, 1, 1),)), Truncate("t")])
@example([Insert("t", ((1, 1, 1),)), Insert("t", ((1, 1, 1),)), Compact("t"), Maintain(0), Truncate("t")])
@example(
    [
        Insert("t", ((1, 1, 1),)),
        Together(
            (Insert("t", ((2, 2, 2),)), Insert("t", ((3, 3, 3),)), Truncate("t"), Insert("t", ((4, 4, 4),)))
        ),
    ]
)
def test_every_version_of_a_history_without_spark_is_as_the_model_says(steps):
    _check_without_spark(steps)


@settings(LAW, max_examples=6)
@given(histories(*WITH_SPARK, longest=7), st.data(), REWRITE_BYTES)
def test_every_version_of_a_history_is_as_the_model_says(spark, steps, data, rewrite_bytes):
    _check_with_spark(spark, steps, data, rewrite_bytes)


@pytest.mark.slow
@settings(LAW, max_examples=1000)
@given(histories(*WITHOUT_SPARK, longest=40))
def test_every_version_of_many_histories_without_spark_is_as_the_model_says(steps):
    _check_without_spark(steps)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(LAW, max_examples=150)
@given(histories(*WITH_SPARK, longest=15), st.data(), REWRITE_BYTES)
def test_every_version_of_many_histories_is_as_the_model_says(spark, steps, data, rewrite_bytes):
    _check_with_spark(spark, steps, data, rewrite_bytes)


# -- shrunk counter-examples, and corners that must be met in every run ---------------------------

FILLED = Insert("t", ((1, 1, 1), (1, 1, 1), (1, 2, 3), (2, None, None), (None, 1, 3)))
CORNERS: dict[str, list[Step]] = {
    "an update that cancels, and rows updated to themselves": [
        FILLED,
        Update("t", (("k", "j"), ("j", "k")), None),
        Update("t", (("k", "j"), ("j", "k")), None),
        Update("t", (("k", "k"),), "v IS NULL"),
        Update("t", (("v", "v + 1"),), "FALSE"),
    ],
    "one incoming row replaces all rows that agree with it": [
        FILLED,
        Merge("t", (((1, None, 9), None), ((None, 3, 9), None)), ("k", "v"), ("k",)),
        Merge(
            "t", (((1, 1, 0), True), ((3, 3, 3), True), ((4, 4, 4), False)), ("k", "j", "v"), ("k", "j"), True
        ),
    ],
    "two incoming rows that claim one row, or one new key, are refused": [
        FILLED,
        Merge("t", (((2, 1, 9), None), ((2, 2, 9), None)), ("k", "j"), ("k",)),
        Merge("t", (((3, 1, 9), None), ((3, 2, 9), None)), ("k", "j"), ("k",)),
        Merge("t", (((3, 1, 9), True), ((3, 2, 9), False)), ("k", "j"), ("k",), True),
        Merge("t", (((2, 1, 9), True), ((2, 2, 9), True)), ("k", "j"), ("k",), True),
    ],
    "several verbs in one transaction see each other": [
        FILLED,
        Together(
            (
                Insert("t", ((3, 3, 3), (3, 3, 3))),
                Update("t", (("v", "v + 1"),), "k = j"),
                Delete("t", "k = 1"),
                Truncate("u"),
                Insert("u", ((1, 1, 1),)),
            )
        ),
        Together((Truncate("t"), Insert("t", ((1, 1, 1),)), Update("t", (("v", "NULL"),), "k = 1"))),
        Together((Update("t", (("v", "NULL"),), None), Truncate("u")), rolled_back=True),
    ],
    "a batch empties a table, and it fills again": [
        FILLED,
        Delete("t", "k IN (1, 2)"),
        Delete("t", "v > 2 OR v IS NULL"),
        Maintain(1),
        Merge("t", (((1, 1, 1), None),), ("k", "j", "v"), ("k",)),
        Compact("t"),
        Maintain(0),
        Update("t", (("v", "v + 1"),), None),
    ],
}


@pytest.mark.rotating(2)
@pytest.mark.parametrize("rewrite_bytes", [0, 1 << 20], ids=["by Spark", "by the driver"])
@pytest.mark.parametrize("steps", CORNERS.values(), ids=CORNERS)
def test_a_corner_is_as_the_model_says(spark, steps, rewrite_bytes):
    with _player(spark, driver_rewrite_bytes=rewrite_bytes) as player:
        player.play(steps)
        player.check_contents()
        player.check_changes()
        if not rewrite_bytes:
            since = player.lsns[min(1, len(player.lsns) - 1)]  # not the empty beginning
            player.check_frames("t", since, player.lsns[-1])
