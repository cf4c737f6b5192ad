"""Random queries × random changes on DuckDB: what is rendered means what the reference says."""

from __future__ import annotations

import pytest

from anabranch.algebra.evaluate import Tables, evaluate, plus
from anabranch.delta import differentiate
from anabranch.delta.simplify import simplify
from tests.equivalence.draw import Draw
from tests.equivalence.duck import Duck

QUERIES = 200
MANY_QUERIES = 5_000


def check(seed: int, rounds: int = 10) -> None:
    draw = Draw(seed)
    database = draw.database()
    plan = draw.query(database, 3)
    change = differentiate(plan)
    duck = Duck(database)
    before = draw.contents(database)
    duck.load(before, before)
    old = duck.evaluate(plan)
    for _ in range(rounds):
        after = draw.changed(database, before)
        duck.load(before, after)
        changed = {name for name in after if dict(before[name]) != dict(after[name])}
        new = duck.evaluate(plan)
        assert new == evaluate(plan, Tables(database.columns, before, after)), seed
        assert plus(old, duck.evaluate(simplify(change, changed=changed))) == new, seed
        before, old = after, new


def test_two_hundred_random_queries_change_exactly_as_their_results_do() -> None:
    for seed in range(QUERIES):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_five_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    for seed in range(1_000_000, 1_000_000 + MANY_QUERIES):
        check(seed)
