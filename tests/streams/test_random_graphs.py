"""Graphs of any shape, in which anything happens in any order: right at every version."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.large_tables import tables_are_large
from tests.streams.worlds import live_through

pytestmark = pytest.mark.rotating(4)

QUICK = 16
ONCE_WRONG = (547008668, 301645644)
"""Worlds in which something was wrong before: a frontier without a source that a query came to read, and one
that stayed while a query further up was altered without changing a row."""
MANY = int(os.environ.get("ANABRANCH_TEST_WORLDS", "500"))
FIRST = int(os.environ.get("ANABRANCH_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 30)


def live(place: Path, seed: int) -> None:
    clock = ab.ManualClock()
    # Rows of a table that are read here, in turns: all, none, or so few that others are asked for.
    held = (50_000, 0, 2)[seed % 3]
    with (
        tables_are_large(seed % 2 == 1),
        duck_lake(place, clock=clock, driver_rows=held) as lake,
    ):
        assert live_through(lake, clock, seed).checked


@pytest.mark.parametrize("seed", [*range(QUICK), *ONCE_WRONG])
def test_whatever_happens_every_version_is_its_query_at_its_frontier(place, seed):
    live(place, seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_in_many_worlds_every_version_is_its_query_at_its_frontier(tmp_path):
    for number in range(MANY):
        live(tmp_path / f"lake{number}", FIRST + number)
