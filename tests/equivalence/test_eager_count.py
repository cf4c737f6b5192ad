"""Counts of partners over random queries: kept with the counts stored, they are those of the plan."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Aggregate, AggregateCall, Filter, Join, Plan
from anabranch.algebra.scalar import Call, Literal, Ref, all_of, equal, null_safe_equal
from anabranch.delta.eager_count import count_eagerly
from tests.equivalence.check import check_history
from tests.equivalence.draw import INT, Database, Draw

pytestmark = pytest.mark.rotating(5)

ROUNDS = 6


def counting(draw: Draw, database: Database) -> Plan:
    """A count of partners; at times above it a choice of groups, or groups of counts."""
    left, ours = draw._plan(database, draw.random.randint(0, 2))
    right, theirs = draw._plan(database, draw.random.randint(0, 2))
    numbers = [[Ref(name) for name, kind in side.items() if kind == INT] for side in (ours, theirs)]
    pairs = list(zip(*(draw.random.sample(some, len(some)) for some in numbers), strict=False))
    equated = pairs[: draw.random.randint(1, 2)]
    on = all_of(draw.random.choice((equal, null_safe_equal))(one, other) for one, other in equated)
    keys = draw.random.sample(numbers[0], min(len(numbers[0]), draw.random.randint(0, 2)))
    counted = draw.random.choices(right.names, k=draw.random.randint(1, 2))
    plan: Plan = Aggregate(
        Join(left, right, "left", on),
        tuple((f"key{place}", key) for place, key in enumerate(keys)),
        tuple((f"count{place}", AggregateCall("count", (Ref(name),))) for place, name in enumerate(counted)),
    )
    if draw.random.random() < 0.3:
        plan = Filter(plan, Call(">", (Ref("count0"), Literal(1))))
    if draw.random.random() < 0.5:
        plan = Aggregate(plan, (("times", Ref("count0")),), (("groups", AggregateCall("count")),))
    return plan


@pytest.mark.parametrize("seed", range(150))
def test_random_counts_of_partners(seed: int) -> None:
    draw = Draw(seed)
    database = draw.database()
    plan = counting(draw, database)
    while not count_eagerly(plan).counts:  # a side may have no whole numbers to equate
        plan = counting(draw, database)
    history = [draw.contents(database)]
    for _ in range(ROUNDS):
        history.append(draw.changed(database, history[-1]))
    mismatch = check_history(seed, plan, database.columns, history)
    assert mismatch is None, mismatch
