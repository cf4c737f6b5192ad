"""What several parts of a change need is computed once, by a statement of its own.

SQL has no way to share rows within a statement: an engine that inlines common table expressions computes
them at every use, and plans them at every use, which for nested subqueries takes longer than the data. So
shared parts that cost something are cut out:

- small ones always;
- others, whose rows go to files, only where a statement would still be too long to plan. Those that make it
  shorter by the most operators come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Aggregate, Cut, Join, Plan, Project, SetOp, Top, Window, subplans
from anabranch.algebra.rebuild import with_inputs
from anabranch.algebra.weights import Weighted
from anabranch.delta.small import Small, equalities

COSTLY = (Join, Aggregate, SetOp, Window, Top)
"""What makes computing a part again worth avoiding: adding up a few changed rows doesn't."""
LONG = 150
"""A statement has up to so many operators, counted at every use. With more, planning takes seconds."""
WORTH = 20
"""Computing rows that aren't few once, and keeping them, must save so many operators."""


@dataclass(frozen=True)
class Steps:
    """Statements to run one after the other; each may read the rows of those before it."""

    before: tuple[tuple[Cut, Plan], ...]
    last: Plan


def cut(plan: Plan, *, long: int = LONG) -> Steps:
    """The plan in steps.

    Law: evaluate(steps.last), with the rows of each cut being its plan's, = evaluate(plan).
    """
    small, weighted = Small(), Weighted()
    chosen = _chosen(plan, small, long)
    steps: list[tuple[Cut, Plan]] = []
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = with_inputs(part, visit)
            if part in chosen:
                columns = tuple((name, name) for name in found.names)
                leaf = Cut(f"step_{len(steps)}", columns, weighted(found), small(part))
                steps.append((leaf, found))
                found = leaf
            done[part] = found
        return found

    last = visit(plan)
    return Steps(tuple(steps), last)


def inlined(plan: Plan) -> int:
    """How many operators a plan has, counted at every use."""
    return _lengths(subplans(plan), ())[plan]


def _chosen(plan: Plan, small: Small, long: int) -> set[Plan]:
    """The parts to cut out."""
    upwards = subplans(plan)
    uses = Counter(below for part in upwards for below in part.inputs)
    chosen: set[Plan] = set()
    costly: set[Plan] = set()
    for part in upwards:
        if isinstance(part, COSTLY) or any(below in costly for below in part.inputs):
            if uses[part] > 1 and small(part):
                chosen.add(part)
            else:
                costly.add(part)
    shared = [part for part in upwards if part in costly and uses[part] > 1]
    while True:
        lengths = _lengths(upwards, chosen)
        places = _places(upwards, chosen, [one for one in (plan, *chosen) if lengths[one] > long])
        saved = {part: (places[part] - 1) * (lengths[part] - 1) for part in shared if part not in chosen}
        worth = [part for part, operators in saved.items() if operators >= WORTH]
        if not worth:
            return chosen
        chosen.add(min(worth, key=lambda part: (_multiplies(part), -saved[part])))


def _lengths(upwards: Iterable[Plan], chosen: Collection[Plan]) -> Mapping[Plan, int]:
    """How many operators each part has, counted at every use; what is cut out counts one where it is read."""
    lengths: dict[Plan, int] = {}
    for part in upwards:
        lengths[part] = 1 + sum(1 if below in chosen else lengths[below] for below in part.inputs)
    return lengths


def _places(upwards: list[Plan], chosen: Collection[Plan], statements: Iterable[Plan]) -> Counter[Plan]:
    """In how many places each part stands, over all of some statements."""
    places = Counter(statements)
    for part in reversed(upwards):
        for below in part.inputs:
            if below not in chosen:
                places[below] += places[part]
    return places


def _multiplies(plan: Plan) -> bool:
    """Whether it has a row for every pair of rows: more than one would like to keep."""
    while isinstance(plan, Project):
        plan = plan.input
    return isinstance(plan, Join) and plan.kind in ("inner", "left", "full") and not equalities(plan)
