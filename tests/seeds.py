"""Seeds that differ from run to run, so that many runs see what one can't afford to.

The number of a run is printed at its end; `ANABRANCH_TEST_RUN=<number>` repeats it.
"""

from __future__ import annotations

import os
import random

VARIABLE = "ANABRANCH_TEST_RUN"
RUNS = 100_000
SPACING = 10_000
"""Seeds between the first ones of two runs: two runs share none."""
FIRST = 10_000_000
"""Above all seeds that stand in a test."""


def run_number() -> int:
    """The number of this run: the one that was asked for, else drawn once, for all of its processes."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(random.randrange(RUNS))
    return int(os.environ[VARIABLE])


def rotating_seeds(count: int) -> range:
    """Seeds for `count` random cases of this run."""
    assert count <= SPACING
    first = FIRST + run_number() * SPACING
    return range(first, first + count)
