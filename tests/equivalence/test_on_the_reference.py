"""Random queries × random changes on the reference evaluator: differential == full."""

from __future__ import annotations

import pytest

from tests.equivalence.check import check_seed
from tests.equivalence.draw import OPERATORS, Reached

QUERIES = 2_000
MANY_QUERIES = 50_000


def run(queries: int, first: int = 0) -> Reached:
    reached = Reached()
    for seed in range(first, first + queries):
        plan, mismatch = check_seed(seed)
        assert mismatch is None, mismatch
        reached.add(plan)
    return reached


def test_two_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    reached = run(QUERIES)
    assert {name for (name,) in reached.counts[1]} == {*OPERATORS, "scan"}
    assert reached.share(2) >= 0.9, str(reached)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_fifty_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    reached = run(MANY_QUERIES, first=1_000_000)
    assert reached.share(3) >= 0.9, str(reached)
