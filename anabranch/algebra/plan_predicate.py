"""A predicate over the subplans of a plan; it is computed once for each."""

from __future__ import annotations

from abc import ABC, abstractmethod

from anabranch.algebra.plan import Plan


class PlanPredicate(ABC):
    """Caches the answer for each subplan; a subclass computes it."""

    def __init__(self) -> None:
        self._known: dict[Plan, bool] = {}

    def __call__(self, plan: Plan) -> bool:
        """Whether the predicate is true of a plan."""
        found = self._known.get(plan)
        if found is None:
            found = self._known[plan] = self._decide(plan)
        return found

    @abstractmethod
    def _decide(self, plan: Plan) -> bool: ...
