"""Where rows are computed: what the engine is told beside what to compute. Hints never change a result.

Two things cost time over a small change, and neither is data. Sending rows from task to task: each exchange
is a job of its own. So what is small stands together in one partition from the leaves on (`delta/together`).
And guesses of size: an engine takes the join of a change for a large one. So what comes from a change is sent
to where the other rows are, and never those.
"""

from __future__ import annotations

from anabranch.algebra.plan import Filter, Join, Plan, UnionAll
from anabranch.algebra.scalar import Call, Function, Scalar, Verbatim, children
from anabranch.delta.small import Small, equalities, equates_all
from anabranch.delta.together import Known, Together

COALESCE, REPARTITION = "COALESCE(1)", "REPARTITION(1)"


class Hints:
    """What to tell the engine about the parts of one statement."""

    def __init__(self, known: Known) -> None:
        self._small = Small()
        self._together = Together(known, self._small)
        self._gathers = known.changes

    def leaf(self, plan: Plan) -> str | None:
        """How the rows of a relation are read: small ones by one task."""
        return COALESCE if self._together(plan) else None

    def union(self, plan: UnionAll) -> str | None:
        """Parts that stand in one partition each are read by one task."""
        return COALESCE if self._together(plan) else None

    def gather(self, plan: Plan) -> str | None:
        """What a part needs whose rows are to stand in one partition, if it needs anything."""
        if not self._gathers or self._together(plan) or not self._small(plan):
            return None
        return REPARTITION

    def join(self, plan: Join, left: str, right: str) -> str | None:
        """How two relations meet, given their names."""
        if self._together(plan.left) and self._together(plan.right):
            # Said again: of a join Spark knows only that each side stood together.
            return f"SHUFFLE_HASH({right}), {COALESCE}" if equalities(plan) else COALESCE
        sent = self._together.sent(plan)
        return None if sent is None else f"BROADCAST({left if sent is plan.left else right})"

    def waits(self, plan: Filter) -> bool:
        """Whether a condition is judged above a look-up: it takes longer to judge a row than to look it up.

        Left to itself, Spark moves conditions below joins, and judges every row of the table.
        """
        found = plan.input
        if not isinstance(found, Join) or found.kind != "semi" or not _is_dear(plan.condition):
            return False
        return self._together.sent(found) is found.right and not self._together(found.left)

    def pairs(self, plan: Join) -> bool:
        """Whether a semi join is better written as an inner one with the rows that differ on the right.

        Spark moves a semi join below the hint that rows stand together, but no inner one.
        """
        here = self._together(plan.left) and self._together(plan.right)
        return here and equates_all(plan)


def _is_dear(scalar: Scalar) -> bool:
    """Whether there is more in a condition than comparing: searching texts, functions, people's own words."""
    if isinstance(scalar, Function | Verbatim) or (isinstance(scalar, Call) and scalar.op == "like"):
        return True
    return any(_is_dear(child) for child in children(scalar))
