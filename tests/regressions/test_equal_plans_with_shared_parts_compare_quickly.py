"""Comparing two equal plans visited a shared subplan once per path to it: exponential in the depth.

A random query whose change shares subplans over many levels, looked up as a dictionary's key, did not
come back within the time limit of its test.
"""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Plan, Scan, UnionAll

LEVELS = 2_000


def shared_at_every_level(table: str, levels: int = LEVELS) -> Plan:
    """A plan of `levels` nodes with 2 ** levels paths from its root to its leaf."""
    plan: Plan = Scan(table, (("a", "a"),))
    for _ in range(levels):
        plan = UnionAll((plan, plan))
        hash(plan)
    return plan


@pytest.mark.timeout(20)
def test_equal_plans_are_equal() -> None:
    assert shared_at_every_level("orders") == shared_at_every_level("orders")


@pytest.mark.timeout(20)
def test_a_difference_at_the_leaf_makes_them_differ() -> None:
    assert shared_at_every_level("orders") != shared_at_every_level("lines")


@pytest.mark.timeout(20)
def test_a_difference_in_depth_makes_them_differ() -> None:
    assert shared_at_every_level("orders") != shared_at_every_level("orders", LEVELS - 1)


@pytest.mark.timeout(20)
def test_an_equal_plan_is_found_as_a_key() -> None:
    assert {shared_at_every_level("orders"): "text"}[shared_at_every_level("orders")] == "text"
