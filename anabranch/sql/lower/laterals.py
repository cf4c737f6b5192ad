"""LATERAL: relations that are computed for each row of what stands before them."""

from __future__ import annotations

from anabranch.algebra.scalar import all_of
from anabranch.sql.lower.conditions import filter_rows
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.functions import GENERATORS
from anabranch.sql.lower.generators import generate_rows
from anabranch.sql.lower.outer_columns import outer_block
from anabranch.sql.lower.plan_builder import JoinSides, PlanBuilder
from anabranch.sql.lower.scope import Environment, Field, Relation, Scope, check_arity, requalify
from anabranch.sql.lower.syntax.tree import (
    Alias,
    DerivedTable,
    Expression,
    JoinedTable,
    LateralView,
    Node,
    TableFunction,
)


def lower_lateral(
    context: Context,
    left: Relation,
    node: JoinedTable,
    right: DerivedTable | TableFunction,
    environment: Environment,
) -> Relation:
    """The join of a relation with one that is computed for each of its rows."""
    if node.kind not in ("cross", "inner", "left") or node.natural or node.using is not None:
        raise context.invalid(node, "a LATERAL relation can only be joined by INNER, CROSS or LEFT JOIN … ON")
    if isinstance(right, TableFunction):
        return _function(context, left, node, right, environment)
    scope = Scope(left.fields, outer_block(environment, left.carried))
    site = PlanBuilder(left.plan)
    related = context.rules.correlate(context, right.query, environment.ctes, scope, site, right)
    fields = _alias_fields(context, related.relation.fields, right.alias)
    both = Scope(left.fields + fields, outer_block(environment, left.carried))
    kind = "left" if node.kind == "left" else "inner"
    if kind == "left":
        sides = JoinSides(site.plan, related.relation.plan)
        on = [] if node.on is None else [Expressions(context, both, sides, environment.ctes).scalar(node.on)]
        joined = PlanBuilder(sides.left.plan)
        joined.join(sides.right.plan, "left", all_of([*related.conditions, *on]))
    else:
        joined = PlanBuilder(site.plan)
        joined.join(related.relation.plan, "inner", all_of(related.conditions))
        if node.on is not None:
            filter_rows(Expressions(context, both, joined, environment.ctes), joined, node.on)
    return Relation(joined.plan, left.fields + fields, left.carried)


def _alias_fields(context: Context, fields: tuple[Field, ...], alias: Alias | None) -> tuple[Field, ...]:
    if alias is None:
        return fields
    if alias.columns:
        check_arity(context, alias, len(alias.columns), len(fields))
        fields = tuple(Field(name, f.plan) for name, f in zip(alias.columns, fields, strict=True))
    return requalify(fields, alias.name)


def _function(
    context: Context, left: Relation, node: JoinedTable, right: TableFunction, environment: Environment
) -> Relation:
    if right.name not in GENERATORS:
        raise context.invalid(right, f"{right.name}() can't stand behind LATERAL")
    names = right.alias.columns if right.alias is not None else ()
    if node.kind == "left":
        # Spark itself drops the rows whose list is empty, which an outer join must keep.
        raise context.not_incremental(
            node,
            "LEFT JOIN LATERAL with a function can't be maintained incrementally",
            "Spark doesn't keep the rows that the function makes nothing of",
            "write LATERAL VIEW OUTER",
        )
    alias = right.alias.name if right.alias is not None else right.name
    relation = _generate(context, left, right, right.name, right.args, names, False, alias, environment)
    if node.on is None:
        return relation
    site = PlanBuilder(relation.plan)
    scope = Scope(relation.fields, outer_block(environment, relation.carried))
    filter_rows(Expressions(context, scope, site, environment.ctes), site, node.on)
    return Relation(site.plan, relation.fields, relation.carried)


def lateral_view(
    context: Context, relation: Relation, view: LateralView, environment: Environment
) -> Relation:
    """LATERAL VIEW: each row once per element of a list computed from it."""
    if view.function not in GENERATORS:
        raise context.invalid(
            view, f"{view.function}() makes no rows", "explode, posexplode, inline and stack do."
        )
    return _generate(
        context,
        relation,
        view,
        view.function,
        view.args,
        view.columns,
        view.outer,
        view.name,
        environment,
    )


def _generate(
    context: Context,
    relation: Relation,
    node: Node,
    function: str,
    args: tuple[Expression, ...],
    names: tuple[str, ...],
    outer: bool,
    alias: str,
    environment: Environment,
) -> Relation:
    site = PlanBuilder(relation.plan)
    scope = Scope(relation.fields, outer_block(environment, relation.carried))
    expressions = Expressions(context, scope, site, environment.ctes)
    plan, columns = generate_rows(
        context, site, node, function, expressions.scalars(args), args, names, outer
    )
    qualifier = (alias.lower(),) if alias else ()
    fields = tuple(Field(name, column, qualifier) for name, column in columns)
    return Relation(plan, relation.fields + fields, relation.carried)
