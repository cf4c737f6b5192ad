"""Joins: their kinds, their conditions, USING and NATURAL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Join, JoinKind, Plan, Project
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of
from anabranch.sql.lower.carry import carrying, outer_of
from anabranch.sql.lower.conditions import asks_subquery, keep_rows
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import alike
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.laterals import lower_lateral
from anabranch.sql.lower.negation import conjuncts_of
from anabranch.sql.lower.scope import Definition, Environment, NeedsDomain, Relation, Scope
from anabranch.sql.lower.site import Sides, Site, filtered, joined_on, reading_only
from anabranch.sql.lower.syntax import tree
from anabranch.sql.lower.syntax.tree import Derived, Joined, JoinWord, TableFunction
from anabranch.sql.lower.using import common_columns, using

Lower = Callable[[Context, tree.Relation, Environment], Relation]

_KINDS: dict[JoinWord, JoinKind] = {
    "cross": "inner",
    "inner": "inner",
    "left": "left",
    "right": "left",
    "full": "full",
    "semi": "semi",
    "anti": "anti",
}


@dataclass(frozen=True)
class Pair:
    """The two sides of a join that is being lowered."""

    left: Relation
    right: Relation


def lower_join(context: Context, node: Joined, environment: Environment, lower: Lower) -> Relation:
    """The join of two relations."""
    left = lower(context, node.left, environment)
    if isinstance(node.right, Derived | TableFunction) and node.right.lateral:
        return _lateral(context, left, node, node.right, environment)
    right = lower(context, node.right, environment)
    domain = environment.domain
    pair = Pair(left, right)
    if domain is None:
        return _joined(context, node, pair, environment)
    # An outer join is done per row of the block around; so the side it preserves must know the row.
    if left.carried is None and right.carried is not None and _KINDS[node.kind] != "inner":
        pair = Pair(carrying(context, left, domain), right)
    if left.carried is not None and right.carried is None and node.kind in ("right", "full"):
        pair = Pair(left, carrying(context, right, domain))
    try:
        return _joined(context, node, pair, environment)
    except NeedsDomain as need:
        if need.token is not domain.token or left.carried is not None:
            raise
    both = node.kind in ("right", "full")
    pair = Pair(carrying(context, left, domain), carrying(context, right, domain) if both else right)
    return _joined(context, node, pair, environment)


def _lateral(
    context: Context, left: Relation, node: Joined, right: Derived | TableFunction, environment: Environment
) -> Relation:
    domain = environment.domain
    try:
        return lower_lateral(context, left, node, right, environment)
    except NeedsDomain as need:
        if domain is None or need.token is not domain.token or left.carried is not None:
            raise
    return lower_lateral(context, carrying(context, left, domain), node, right, environment)


def _joined(context: Context, node: Joined, pair: Pair, environment: Environment) -> Relation:
    left, right = pair.left, pair.right
    if node.natural or node.using is not None:
        names = common_columns(left, right) if node.natural else node.using or ()
        merged = using(context, node, left, right, names)
        conditions, fields = list(merged.conditions), merged.fields
    else:
        merged = None
        conditions, fields = [], left.fields + right.fields
    if left.carried is not None and right.carried is not None:
        conditions.append(alike(left.carried, right.carried))
    carried = left.carried if left.carried is not None else right.carried
    scope = Scope(left.fields + right.fields, outer_of(environment, carried))
    plan = _plan(context, node, pair, scope, environment.ctes, conditions)
    if node.kind == "right":
        carried = right.carried if right.carried is not None else left.carried
    elif node.kind in ("semi", "anti"):
        fields = left.fields
    elif node.kind == "full":
        extra = list(merged.coalesced) if merged is not None else []
        if left.carried is not None and right.carried is not None:
            carried = {column: context.column(column, Ref(column)) for column in left.carried}
            extra += [
                (new, _either(left.carried[column], right.carried[column])) for column, new in carried.items()
            ]
        if extra:
            plan = Project(plan, tuple((name, Ref(name)) for name in plan.names) + tuple(extra))
    return Relation(plan, fields, carried)


def _plan(
    context: Context,
    node: Joined,
    pair: Pair,
    scope: Scope,
    ctes: Mapping[str, Definition],
    conditions: list[Scalar],
) -> Plan:
    kind = _KINDS[node.kind]
    if kind == "inner":
        parts = [] if node.on is None else conjuncts_of(node.on)
        between = Sides(pair.left.plan, pair.right.plan)
        plain = Expressions(context, scope, between, ctes)
        conditions += [plain.scalar(part) for part in parts if not asks_subquery(part)]
        site = Site(joined_on(between.left.plan, between.right.plan, conditions))
        for part in parts:
            if asks_subquery(part):
                keep_rows(Expressions(context, scope, site, ctes), site, part)
        return site.plan
    sides = Sides(pair.left.plan, pair.right.plan)
    expressions = Expressions(context, scope, sides, ctes)
    for part in [] if node.on is None else conjuncts_of(node.on):
        # What only the side without partners can decide is decided there.
        conditions.append(expressions.scalar(part))
    left, right = sides.left.plan, sides.right.plan
    if node.kind == "right":
        return _outer(right, left, "left", conditions)
    return _outer(left, right, kind, conditions)


def _outer(left: Plan, right: Plan, kind: JoinKind, conditions: list[Scalar]) -> Plan:
    """Conditions on the optional side alone filter it first; all others stay the join's."""
    if kind == "full":
        return Join(left, right, kind, all_of(conditions))
    alone, others = reading_only(right, conditions)
    return Join(left, filtered(right, alone), kind, all_of(others))


def _either(left: str, right: str) -> Scalar:
    return Call("coalesce", (Ref(left), Ref(right)))
