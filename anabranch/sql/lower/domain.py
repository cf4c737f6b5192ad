"""The domain of a correlated query: the columns of the block around it that it reads, each value once.

    Q(x) for every row x of L  =  L ⟕ Q(D),  D = DISTINCT (the columns of L that Q reads)

Q is computed for all of D at once: its relations are joined with D, and whatever Q does per group, per
partition or per query it does per row of D. So D's columns are carried through all of Q, and the result
is joined back to L on them, NULL matching NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Distinct, Plan, Project
from anabranch.algebra.scalar import Ref, Scalar, all_of, null_safe_equal
from anabranch.sql.lower.context import Context


@dataclass(frozen=True)
class Domain:
    """The values for which a correlated query is computed."""

    token: object
    columns: tuple[str, ...]
    """The columns of the block around, by their names in its plan."""
    values: Plan
    """Each combination once, under names of its own, in the order of `columns`."""

    @classmethod
    def of(cls, context: Context, token: object, plan: Plan, columns: tuple[str, ...]) -> Domain:
        """The domain that the rows of a plan give."""
        items = tuple((context.fresh_column(column, Ref(column)), Ref(column)) for column in columns)
        return cls(token, columns, Distinct(Project(plan, items)))

    def with_fresh_names(self, context: Context) -> tuple[Plan, Mapping[str, str]]:
        """The values under names that nothing else has, and which name carries which column."""
        carried = {column: context.fresh_column(column, Ref(column)) for column in self.columns}
        renamed = zip(carried.values(), self.values.names, strict=True)
        return Project(self.values, tuple((new, Ref(old)) for new, old in renamed)), carried


def domain_join_condition(carried: Mapping[str, str]) -> Scalar:
    """The condition under which a row of the block around meets its own results."""
    return all_of(null_safe_equal(Ref(outer), Ref(inner)) for outer, inner in carried.items())


def same_outer_row(left: Mapping[str, str], right: Mapping[str, str]) -> Scalar:
    """The condition that two parts of a correlated query belong to the same row of the block around."""
    return all_of(null_safe_equal(Ref(left[column]), Ref(right[column])) for column in left)
