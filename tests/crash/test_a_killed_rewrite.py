"""kill -9 while rows are updated, merged and deleted on Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.crash import scripts
from tests.crash.children import alone
from tests.crash.conftest import Spot
from tests.crash.model import check_history, state_of
from tests.crash.test_a_killed_commit import sweep_and_check

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.mark.parametrize(
    ("point", "decided"),
    [
        ("write.after_stage=kill@2", False),
        ("commit.before_commit=kill", False),
        ("commit.after_commit=kill", True),
    ],
)
def test_a_rewrite_killed_anywhere_happened_whole_or_not_at_all(
    sqlite_spot: Spot, spark: SparkSession, point: str, decided: bool
):
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
    newest = max(model.history)
    assert alone(sqlite_spot.job("rewrite_rows", attempt="mine"), point) == -9

    with sqlite_spot.open(spark=spark) as lake:
        assert lake.committed("mine") == (newest + 1 if decided else None)
        before = state_of(lake)
        for _ in range(2):
            assert scripts.rewrite_rows(lake, "mine") == lake.lsn == newest + 1
        scripts.rewritten_rows(model)
        model.committed(newest + 1)
        assert before == model.history[newest + decided]
        check_history(lake, model.history)
        model.together(lake, lambda tx: tx.truncate("orders"))
    sweep_and_check(sqlite_spot)
    with sqlite_spot.open() as lake:
        check_history(lake, model.history)
