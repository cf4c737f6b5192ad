"""A yes or no about every part of a plan; each part is looked at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from anabranch.algebra.plan import Plan


class Judge(ABC):
    """Remembers what it said; what it says is its subclass's to decide."""

    def __init__(self) -> None:
        self._known: dict[Plan, bool] = {}

    def __call__(self, plan: Plan) -> bool:
        """Whether it holds for a plan."""
        found = self._known.get(plan)
        if found is None:
            found = self._known[plan] = self._look(plan)
        return found

    @abstractmethod
    def _look(self, plan: Plan) -> bool: ...
