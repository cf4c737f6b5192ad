"""Hints for the engine: where to compute rows. Hints never change a result.

Two things cost time over a small change, and neither is data. The first is shuffles: each exchange is a job
of its own. So small relations are in one partition from the leaves on (`delta/single_partition`). The second
is wrong estimates: an engine takes the join of a change for a large one. So what comes from a change is
broadcast, and never the other side.
"""

from __future__ import annotations

from anabranch.algebra.plan import Filter, Join, Plan, UnionAll
from anabranch.algebra.scalar import Call, Function, Scalar, Verbatim, children
from anabranch.delta.single_partition import InSinglePartition, RelationFacts
from anabranch.delta.small_subplans import IsSmall, equalities, equates_right_columns

COALESCE, REPARTITION = "COALESCE(1)", "REPARTITION(1)"


class Hints:
    """The hints for the parts of one statement."""

    def __init__(self, known: RelationFacts) -> None:
        self._small = IsSmall()
        self._together = InSinglePartition(known, self._small)
        self._gathers = known.changes

    def leaf_hint(self, plan: Plan) -> str | None:
        """The hint for a leaf: a small one is read by one task."""
        return COALESCE if self._together(plan) else None

    def union_hint(self, plan: UnionAll) -> str | None:
        """The hint for a union: parts of one partition each are read by one task."""
        return COALESCE if self._together(plan) else None

    def gather_hint(self, plan: Plan) -> str | None:
        """The hint for a subplan whose rows are to be in one partition, if it needs one."""
        if not self._gathers or self._together(plan) or not self._small(plan):
            return None
        return REPARTITION

    def join_hint(self, plan: Join, left: str, right: str) -> str | None:
        """The hint for a join of two relations, given their names."""
        if self._together(plan.left) and self._together(plan.right):
            # Repeated, since Spark doesn't know that a join of single partitions is one, too.
            return f"SHUFFLE_HASH({right}), {COALESCE}" if equalities(plan) else COALESCE
        sent = self._together.broadcast_side(plan)
        return None if sent is None else f"BROADCAST({left if sent is plan.left else right})"

    def must_filter_after_join(self, plan: Filter) -> bool:
        """Whether a filter must stay above a semi join: its condition costs more per row than the join.

        By default Spark moves conditions below joins, and evaluates them for every row of the table.
        """
        found = plan.input
        if not isinstance(found, Join) or found.kind != "semi" or not _is_expensive(plan.condition):
            return False
        return self._together.broadcast_side(found) is found.right and not self._together(found.left)

    def can_be_inner_join(self, plan: Join) -> bool:
        """Whether a semi join is better written as an inner one with the distinct rows on the right.

        Spark moves a semi join below the hint for a single partition, but no inner one.
        """
        here = self._together(plan.left) and self._together(plan.right)
        return here and equates_right_columns(plan)


def _is_expensive(scalar: Scalar) -> bool:
    """Whether a condition does more than compare: LIKE, functions, or SQL text taken over verbatim."""
    if isinstance(scalar, Function | Verbatim) or (isinstance(scalar, Call) and scalar.op == "like"):
        return True
    return any(_is_expensive(child) for child in children(scalar))
