"""Random queries × random changes on the reference evaluator: differential == full."""

from __future__ import annotations

import pytest

from tests.equivalence.check import check_seed
from tests.equivalence.draw import OPERATORS, Draw, Reached
from tests.seeds import rotating_seeds

QUERIES = 150
MORE_QUERIES = 2_000
MANY_QUERIES = 50_000
DEPTH = 4


def run(seeds: range) -> Reached:
    reached = Reached()
    for seed in seeds:
        plan, mismatch = check_seed(seed)
        assert mismatch is None, mismatch
        reached.add(plan)
    return reached


def test_random_queries_change_exactly_as_their_results_do() -> None:
    run(rotating_seeds(QUERIES))


def test_two_thousand_random_queries_have_every_operator_and_most_pairs_of_them() -> None:
    reached = Reached()
    for seed in range(MORE_QUERIES):
        draw = Draw(seed)
        reached.add(draw.query(draw.database(), DEPTH))
    assert {name for (name,) in reached.counts[1]} == {*OPERATORS, "scan"}
    assert reached.share(2) >= 0.9, str(reached)


@pytest.mark.slow
def test_two_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    run(range(MORE_QUERIES))


@pytest.mark.endless
@pytest.mark.timeout(7200)
def test_fifty_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    reached = run(range(1_000_000, 1_000_000 + MANY_QUERIES))
    assert reached.share(3) >= 0.9, str(reached)
