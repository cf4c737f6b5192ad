"""What no engine is asked for can be looked up, in changes of random queries over tables that are large."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from anabranch.algebra.plan import Plan, tables
from anabranch.delta.look_ups import as_chosen_rows, as_look_up, key_sources
from anabranch.delta.maintenance_plan import plan_maintenance
from anabranch.delta.single_partition import RelationFacts
from anabranch.refresh.execute import change_statements
from tests.equivalence.check import drawn_types
from tests.equivalence.draw import Draw
from tests.equivalence.duck_texts import lowered
from tests.equivalence.sql import draw_case
from tests.seeds import rotating_seeds

QUERIES = 30
MANY = range(101_200, 102_200)
"""One of them has found a fault."""


def draw_plans(seeds: Iterable[int]) -> Iterator[Plan]:
    """Plans of random queries, and those that random texts mean."""
    for seed in seeds:
        draw = Draw(seed)
        yield draw.query(draw.database(), 4)
        case = draw_case(seed)
        yield lowered(case.text, case.tables).plan


def assert_steps_are_known(plan: Plan) -> int:
    """Check all changes of a plan; how many steps need no engine."""
    kept = plan_maintenance(plan, plan.names, drawn_types)
    read, found = tables(plan), 0
    for changed, readable in itertools.product((read, frozenset(sorted(read)[:1])), (frozenset(), read)):
        known = RelationFacts(scans=True, lookups=read, readable=readable)
        for statement in change_statements.__wrapped__(kept, changed, known=known):
            if statement.rendered is None:
                found += 1
                step = statement.plan
                assert key_sources(step) or as_chosen_rows(step) or as_look_up(step), step
    return found


@pytest.mark.timeout(300)
def test_every_step_that_no_engine_computes_is_a_look_up_a_choice_or_keys() -> None:
    assert sum(map(assert_steps_are_known, draw_plans(rotating_seeds(QUERIES)))) > QUERIES


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_so_is_every_step_of_a_thousand_queries_and_texts() -> None:
    assert sum(map(assert_steps_are_known, draw_plans(MANY))) > len(MANY)
