"""How far a plan reaches: which parts of it have more rows than are held here, and which touch such.

A part that meets a large relation by what it equates has few rows, as long as the other side has few: that
is a look-up.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Join,
    Materialised,
    Plan,
    Scan,
    StoredResult,
    Tally,
    Top,
    Values,
)
from anabranch.algebra.plan_predicate import PlanPredicate
from anabranch.delta.small_subplans import equalities

Leaf = Scan | Delta | StoredResult | Materialised
IsLarge = Callable[[Leaf], bool]


class Far(PlanPredicate):
    """Whether a large relation is read anywhere in a part."""

    def __init__(self, is_large: IsLarge) -> None:
        super().__init__()
        self._is_large = is_large

    def _decide(self, plan: Plan) -> bool:
        if isinstance(plan, Leaf):
            return self._is_large(plan)
        return any(self(part) for part in plan.inputs)


class Wide(PlanPredicate):
    """Whether a part may have more rows than are held here."""

    def __init__(self, is_large: IsLarge, most: int) -> None:
        super().__init__()
        self._is_large, self._most = is_large, most

    def _decide(self, plan: Plan) -> bool:
        match plan:
            case Scan() | Delta() | StoredResult() | Materialised():
                return self._is_large(plan)
            case Values():
                return False
            case Aggregate(source, keys) | Tally(source, keys):
                return bool(keys) and self(source)
            case Top(source, _, limit):
                return self(source) and (limit is None or limit > self._most)
            case Join():
                return self._join(plan)
            case _:
                return any(self(part) for part in plan.inputs)

    def _join(self, plan: Join) -> bool:
        left, right = self(plan.left), self(plan.right)
        if not left and not right:
            return False
        if plan.kind == "full" or (left and right):
            return True
        if left and plan.kind in ("left", "anti"):
            return True
        return not equalities(plan)
