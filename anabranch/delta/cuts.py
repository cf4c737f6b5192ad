"""What several parts of a change need is computed once, by a statement of its own.

SQL has no way to share rows within a statement: an engine that inlines common table expressions computes
them at every use, and plans them at every use, which for nested subqueries takes longer than the data. So the
small shared parts that cost something are cut out, from the bottom up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from anabranch.algebra.plan import Aggregate, Cut, Join, Plan, SetOp, Top, Window, walk
from anabranch.algebra.rebuild import with_inputs
from anabranch.algebra.weights import Weighted
from anabranch.delta.small import Small

COSTLY = (Join, Aggregate, SetOp, Window, Top)


@dataclass(frozen=True)
class Steps:
    """Statements to run one after the other; each may read the rows of those before it."""

    before: tuple[tuple[Cut, Plan], ...]
    last: Plan


def cut(plan: Plan) -> Steps:
    """The plan in steps.

    Law: evaluate(steps.last), with the rows of each cut being its plan's, = evaluate(plan).
    """
    uses = _uses(plan)
    small, weighted = Small(), Weighted()
    steps: list[tuple[Cut, Plan]] = []
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = with_inputs(part, visit)
            if uses[part] > 1 and small(part) and _costs(found):
                columns = tuple((name, name) for name in found.names)
                leaf = Cut(f"step_{len(steps)}", columns, weighted(found))
                steps.append((leaf, found))
                found = leaf
            done[part] = found
        return found

    last = visit(plan)
    return Steps(tuple(steps), last)


def _uses(plan: Plan) -> Counter[Plan]:
    """In how many places of the whole each part stands; what stands below a shared part counts once."""
    uses: Counter[Plan] = Counter([plan])
    pending, seen = [plan], {plan}
    while pending:
        for below in pending.pop().inputs:
            uses[below] += 1
            if below not in seen:
                seen.add(below)
                pending.append(below)
    return uses


def _costs(plan: Plan) -> bool:
    """Whether computing it again is worth avoiding: adding up a few changed rows isn't."""
    return any(isinstance(part, COSTLY) for part in walk(plan))
