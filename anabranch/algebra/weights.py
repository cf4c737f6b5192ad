"""Which plans are changes: rows with a weight of their own, rather than one each."""

from __future__ import annotations

from anabranch.algebra.plan import (
    Delta,
    Filter,
    Generate,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Support,
    Tally,
    UnionAll,
)
from anabranch.algebra.plan_predicate import PlanPredicate


class HasWeightColumn(PlanPredicate):
    """Whether the rendered rows of a plan carry a weight column; computed once for each subplan."""

    def _decide(self, plan: Plan) -> bool:
        match plan:
            case Delta() | Negate():
                return True
            case Materialised(_, _, weighted):
                return weighted
            case Support() | Tally():
                return False
            case Rows():
                self(plan.input)
                return False
            case Filter() | Project() | Generate() | Net():
                return self(plan.input)
            case UnionAll(parts):
                return any(self(part) for part in parts)
            case Join(left, right, "inner"):
                return self(left) or self(right)
            case Join(left, right, _):
                if self(right):
                    raise ValueError(f"a change can't be the right side of a {plan.kind} join")
                return self(left)
            case _:
                if any(self(part) for part in plan.inputs):
                    raise ValueError(f"{type(plan).__name__} is not defined on changes")
                return False
