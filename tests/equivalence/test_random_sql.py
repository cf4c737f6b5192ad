"""Random SQL texts × random changes on DuckDB: a plan means its text, and its change is the difference."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest

from anabranch.algebra.evaluate import plus
from anabranch.delta import differentiate
from anabranch.delta.simplify import simplify
from tests.equivalence.check import all_exact
from tests.equivalence.draw import Reached
from tests.equivalence.duck_texts import DuckTexts, lowered
from tests.equivalence.sql import Case, applied, draw_case
from tests.equivalence.texts import FEATURES
from tests.seeds import rotating_seeds

TEXTS = 30
MORE_TEXTS = 200
MANY_TEXTS = 5_000
OPERATORS = frozenset(
    """
    scan values filter project union inner left full semi anti group global distinct intersect except
    window top
    """.split()
)


def check(case: Case, duck: DuckTexts, reached: Reached) -> None:
    """The text, its plan, and round after round its change."""
    plan = lowered(case.text, case.tables).plan
    reached.add(plan)
    change = differentiate(plan)
    duck.create(case.tables)
    before = case.contents
    duck.load(before, before)
    old = duck.asked(case.text)
    assert duck.evaluate(plan) == old, f"seed {case.seed}, before any change: {case.text}"
    for number, one in enumerate(case.rounds):
        where = f"seed {case.seed}, round {number}: {case.text}"
        after = applied(before, one)
        duck.load(before, after)
        new = duck.asked(case.text)
        assert duck.evaluate(plan) == new, where
        changed = {name for name in after if Counter(before[name]) != Counter(after[name])}
        smaller = simplify(change, changed=changed, known=all_exact(change))
        assert plus(old, duck.evaluate(smaller)) == new, where
        before, old = after, new


def run(seeds: range) -> tuple[Reached, Counter[str]]:
    reached = Reached()
    met: Counter[str] = Counter()
    with closing(DuckTexts()) as duck:
        for seed in seeds:
            case = draw_case(seed)
            met.update(case.features)
            check(case, duck, reached)
    return reached, met


def test_random_texts_mean_what_their_plans_say_and_change_as_they_do() -> None:
    run(rotating_seeds(TEXTS))


def test_two_hundred_texts_have_every_operator() -> None:
    reached = Reached()
    met: Counter[str] = Counter()
    for seed in range(MORE_TEXTS):
        case = draw_case(seed)
        met.update(case.features)
        reached.add(lowered(case.text, case.tables).plan)
    assert {name for (name,) in reached.counts[1]} >= OPERATORS
    assert sum(met.values()) > 5 * MORE_TEXTS


@pytest.mark.slow
def test_two_hundred_texts_mean_what_their_plans_say_and_change_as_they_do() -> None:
    run(range(MORE_TEXTS))


def test_every_feature_is_drawn() -> None:
    met: Counter[str] = Counter()
    for seed in range(1_000):
        met.update(draw_case(seed).features)
    assert set(met) == FEATURES
    assert min(met.values()) >= 3, met.most_common()[-5:]


def test_a_seed_draws_the_same_case_every_time() -> None:
    assert draw_case(3) == draw_case(3)


@pytest.mark.endless
@pytest.mark.timeout(7200)
def test_five_thousand_texts_mean_what_their_plans_say_and_change_as_they_do() -> None:
    run(range(1_000_000, 1_000_000 + MANY_TEXTS))
