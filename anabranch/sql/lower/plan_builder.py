"""A plan under construction: where an expression may put what it can't compute from one row alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from anabranch.algebra.plan import Filter, Join, JoinKind, Plan, Project
from anabranch.algebra.scalar import TRUE, Call, Ref, Scalar, all_of, conjuncts, refs
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.syntax.tree import Node


class JoinTarget(Protocol):
    """Somewhere columns can be added to rows."""

    @property
    def names(self) -> frozenset[str]:
        """The columns there are."""

    def builder_with_columns(self, context: Context, node: Node, columns: Iterable[str]) -> PlanBuilder:
        """The plan whose rows have these columns."""


class PlanBuilder:
    """One plan, which grows."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def names(self) -> frozenset[str]:
        """The plan's columns."""
        return frozenset(self.plan.names)

    def builder_with_columns(self, context: Context, node: Node, columns: Iterable[str]) -> PlanBuilder:
        """Itself: everything there is stands in this plan."""
        return self

    def join(self, right: Plan, kind: JoinKind, on: Scalar) -> None:
        """Join something to the rows."""
        self.plan = Join(self.plan, right, kind, on)

    def filter(self, conditions: Iterable[Scalar]) -> None:
        """Keep the rows for which all of these hold."""
        self.plan = push_down_filters(self.plan, list(conditions))

    def add_column(self, context: Context, wanted: str, scalar: Scalar) -> Ref:
        """A column that holds the scalar; a column that does already stays."""
        if isinstance(scalar, Ref) and scalar.name in self.plan.names:
            return scalar
        name = context.fresh_column(wanted)
        kept = tuple((column, Ref(column)) for column in self.plan.names)
        self.plan = Project(self.plan, (*kept, (name, scalar)))
        return Ref(name)


class JoinSides:
    """The two sides of a join, while its condition is lowered."""

    def __init__(self, left: Plan, right: Plan) -> None:
        self.left = PlanBuilder(left)
        self.right = PlanBuilder(right)

    @property
    def names(self) -> frozenset[str]:
        """The columns of both."""
        return self.left.names | self.right.names

    def builder_with_columns(self, context: Context, node: Node, columns: Iterable[str]) -> PlanBuilder:
        """The side that has these columns."""
        wanted = set(columns)
        for site in (self.left, self.right):
            if wanted <= set(site.plan.names):
                return site
        raise context.not_incremental(
            node,
            "a subquery in ON that looks at both sides can't be maintained incrementally yet",
            "it reads columns of both relations of an outer join",
            "compute it in a subquery in FROM",
        )


def push_down_filters(plan: Plan, conditions: list[Scalar]) -> Plan:
    """The rows for which all conditions hold, each condition as far down in joins as it can go.

    So `FROM a, b WHERE a.x = b.x` becomes a join on that equality.
    """
    conditions = [part for condition in conditions for part in conjuncts(_factor_common_terms(condition))]
    if not conditions:
        return plan
    match plan:
        case Filter(below, condition):
            return push_down_filters(below, [condition, *conditions])
        case Join(kind="inner"):
            return _join_connected_first(*_flatten_joins(plan), conditions)
        case Join(left, right, "left" | "semi" | "anti" as kind, on):
            low, high = split_by_columns(left, conditions)
            below = Join(push_down_filters(left, low), right, kind, on)
            return Filter(below, all_of(high)) if high else below
    return Filter(plan, all_of(conditions))


def _flatten_joins(plan: Plan) -> tuple[list[Plan], list[Scalar]]:
    """The relations that inner joins put together, and all their conditions."""
    if not isinstance(plan, Join) or plan.kind != "inner":
        return [plan], []
    left, left_conditions = _flatten_joins(plan.left)
    right, right_conditions = _flatten_joins(plan.right)
    return left + right, [*left_conditions, *right_conditions, *conjuncts(plan.on)]


def _join_connected_first(parts: list[Plan], known: list[Scalar], more: list[Scalar]) -> Plan:
    """Inner joins of all parts, in the order of the text, except that what a condition connects comes
    before what nothing does: a product of two tables would have to be computed for every change.
    """
    conditions = [*known, *more]
    rest: list[Plan] = []
    for part in parts:
        alone, conditions = split_by_columns(part, conditions)
        rest.append(push_down_filters(part, alone))
    plan = rest.pop(0)
    while rest:
        equalities: list[Scalar] = [c for c in conditions if isinstance(c, Call) and c.op in ("=", "<=>")]
        chosen = rest.pop(
            _first_connected(plan, rest, equalities) or _first_connected(plan, rest, conditions) or 0
        )
        pair = Join(plan, chosen, "inner", TRUE)
        on, conditions = split_by_columns(pair, conditions)
        plan = Join(plan, chosen, "inner", all_of(on))
    return Filter(plan, all_of(conditions)) if conditions else plan


def inner_join(left: Plan, right: Plan, conditions: list[Scalar]) -> Plan:
    """The inner join of two plans; conditions on one of them alone filter it first."""
    conditions = [part for condition in conditions for part in conjuncts(_factor_common_terms(condition))]
    low, conditions = split_by_columns(left, conditions)
    high, on = split_by_columns(right, conditions)
    return Join(push_down_filters(left, low), push_down_filters(right, high), "inner", all_of(on))


def split_by_columns(plan: Plan, conditions: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """The conditions that read columns of this plan and no others, and the rest."""
    names = set(plan.names)
    inside: list[Scalar] = []
    outside: list[Scalar] = []
    for condition in conditions:
        read = set(refs(condition))
        (inside if read and read <= names else outside).append(condition)
    return inside, outside


def _first_connected(plan: Plan, rest: list[Plan], conditions: list[Scalar]) -> int | None:
    """The first of these plans that a condition connects with one."""
    ours = set(plan.names)
    read = [found for condition in conditions if (found := set(refs(condition))) & ours]
    for index, part in enumerate(rest):
        theirs = set(part.names)
        if any(found & theirs and found <= ours | theirs for found in read):
            return index
    return None


def _factor_common_terms(condition: Scalar) -> Scalar:
    """(a ∧ b) ∨ (a ∧ c) = a ∧ (b ∨ c): an equality that all alternatives share becomes a join's key."""
    if not isinstance(condition, Call) or condition.op != "or" or not condition.args:
        return condition
    alternatives = [conjuncts(arg) for arg in condition.args]
    common = [part for part in alternatives[0] if all(part in other for other in alternatives[1:])]
    if not common:
        return condition
    rest: list[Scalar] = [all_of(part for part in one if part not in common) for one in alternatives]
    return all_of([*common, Call("or", tuple(rest))])
