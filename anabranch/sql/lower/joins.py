"""Joins: their kinds, their conditions, USING and NATURAL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Join, JoinKind, Plan, Project
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of
from anabranch.sql.lower.conditions import filter_rows, has_subquery
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import same_outer_row
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.laterals import lower_lateral
from anabranch.sql.lower.negation import conjuncts_of
from anabranch.sql.lower.outer_columns import join_with_domain, outer_block
from anabranch.sql.lower.plan_builder import (
    JoinSides,
    PlanBuilder,
    inner_join,
    push_down_filters,
    split_by_columns,
)
from anabranch.sql.lower.scope import CteDefinition, Environment, NeedsDomain, Relation, Scope
from anabranch.sql.lower.syntax import tree
from anabranch.sql.lower.syntax.tree import DerivedTable, JoinedTable, JoinWord, TableFunction
from anabranch.sql.lower.using import common_columns, merge_using_columns

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
class JoinInputs:
    """The two sides of a join that is being lowered."""

    left: Relation
    right: Relation


def lower_join(context: Context, node: JoinedTable, environment: Environment, lower: Lower) -> Relation:
    """The join of two relations."""
    left = lower(context, node.left, environment)
    if isinstance(node.right, DerivedTable | TableFunction) and node.right.lateral:
        return _lateral(context, left, node, node.right, environment)
    right = lower(context, node.right, environment)
    domain = environment.domain
    pair = JoinInputs(left, right)
    if domain is None:
        return _join_relations(context, node, pair, environment)
    # An outer join is done per row of the block around; so the side it preserves must know the row.
    if left.carried is None and right.carried is not None and _KINDS[node.kind] != "inner":
        pair = JoinInputs(join_with_domain(context, left, domain), right)
    if left.carried is not None and right.carried is None and node.kind in ("right", "full"):
        pair = JoinInputs(left, join_with_domain(context, right, domain))
    try:
        return _join_relations(context, node, pair, environment)
    except NeedsDomain as need:
        if need.token is not domain.token or left.carried is not None:
            raise
    both = node.kind in ("right", "full")
    pair = JoinInputs(
        join_with_domain(context, left, domain), join_with_domain(context, right, domain) if both else right
    )
    return _join_relations(context, node, pair, environment)


def _lateral(
    context: Context,
    left: Relation,
    node: JoinedTable,
    right: DerivedTable | TableFunction,
    environment: Environment,
) -> Relation:
    domain = environment.domain
    try:
        return lower_lateral(context, left, node, right, environment)
    except NeedsDomain as need:
        if domain is None or need.token is not domain.token or left.carried is not None:
            raise
    return lower_lateral(context, join_with_domain(context, left, domain), node, right, environment)


def _join_relations(
    context: Context, node: JoinedTable, pair: JoinInputs, environment: Environment
) -> Relation:
    left, right = pair.left, pair.right
    if node.natural or node.using is not None:
        names = common_columns(left, right) if node.natural else node.using or ()
        merged = merge_using_columns(context, node, left, right, names)
        conditions, fields = list(merged.conditions), merged.fields
    else:
        merged = None
        conditions, fields = [], left.fields + right.fields
    if left.carried is not None and right.carried is not None:
        conditions.append(same_outer_row(left.carried, right.carried))
    carried = left.carried if left.carried is not None else right.carried
    scope = Scope(left.fields + right.fields, outer_block(environment, carried))
    plan = _join_plan(context, node, pair, scope, environment.ctes, conditions)
    if node.kind == "right":
        carried = right.carried if right.carried is not None else left.carried
    elif node.kind in ("semi", "anti"):
        fields = left.fields
    elif node.kind == "full":
        extra = list(merged.coalesced) if merged is not None else []
        if left.carried is not None and right.carried is not None:
            carried = {column: context.fresh_column(column, Ref(column)) for column in left.carried}
            extra += [
                (new, _coalesce(left.carried[column], right.carried[column]))
                for column, new in carried.items()
            ]
        if extra:
            plan = Project(plan, tuple((name, Ref(name)) for name in plan.names) + tuple(extra))
    return Relation(plan, fields, carried)


def _join_plan(
    context: Context,
    node: JoinedTable,
    pair: JoinInputs,
    scope: Scope,
    ctes: Mapping[str, CteDefinition],
    conditions: list[Scalar],
) -> Plan:
    kind = _KINDS[node.kind]
    if kind == "inner":
        parts = [] if node.on is None else conjuncts_of(node.on)
        between = JoinSides(pair.left.plan, pair.right.plan)
        plain = Expressions(context, scope, between, ctes)
        conditions += [plain.scalar(part) for part in parts if not has_subquery(part)]
        site = PlanBuilder(inner_join(between.left.plan, between.right.plan, conditions))
        for part in parts:
            if has_subquery(part):
                filter_rows(Expressions(context, scope, site, ctes), site, part)
        return site.plan
    sides = JoinSides(pair.left.plan, pair.right.plan)
    expressions = Expressions(context, scope, sides, ctes)
    for part in [] if node.on is None else conjuncts_of(node.on):
        # What only the side without partners can decide is decided there.
        conditions.append(expressions.scalar(part))
    left, right = sides.left.plan, sides.right.plan
    if node.kind == "right":
        return _outer_join(right, left, "left", conditions)
    return _outer_join(left, right, kind, conditions)


def _outer_join(left: Plan, right: Plan, kind: JoinKind, conditions: list[Scalar]) -> Plan:
    """Conditions on the optional side alone filter it first; all others stay the join's."""
    if kind == "full":
        return Join(left, right, kind, all_of(conditions))
    alone, others = split_by_columns(right, conditions)
    return Join(left, push_down_filters(right, alone), kind, all_of(others))


def _coalesce(left: str, right: str) -> Scalar:
    return Call("coalesce", (Ref(left), Ref(right)))
