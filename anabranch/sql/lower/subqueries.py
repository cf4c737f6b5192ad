"""Subqueries to joins.

    EXISTS              semi join                  as a value: left join with a marker, one row per key
    NOT EXISTS          anti join
    x IN (q)            semi join on x = y
    x NOT IN (q)        anti join on x = y, where not knowing counts as equal
    (SELECT …)          left join with the one row that there is per row outside

For Spark `x IN (q)` as a value is never NULL: it is false where SQL says NULL, and so is `x NOT IN (q)`.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Aggregate, AggregateCall, Distinct, Join, Plan, Project
from anabranch.algebra.scalar import (
    TRUE,
    Call,
    Ref,
    Scalar,
    all_of,
    equal,
    null_safe_equal,
    refs,
    rename_refs,
)
from anabranch.sql.lower.block import Block
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.correlate import CorrelatedSubquery, correlate
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.grouped_scalar import lower_grouped_scalar
from anabranch.sql.lower.key_pairs import key_pairs
from anabranch.sql.lower.order import whole_number
from anabranch.sql.lower.plan_builder import PlanBuilder, push_down_filters
from anabranch.sql.lower.scope import NeedsDomain
from anabranch.sql.lower.syntax.tree import (
    Exists,
    Expression,
    InQuery,
    Node,
    Not,
    Query,
    Row,
    ScalarQuery,
)


def filter_by_subquery(expressions: Expressions, site: PlanBuilder, part: Expression) -> bool:
    """Filter the site by a condition that is nothing but EXISTS or IN; False if it is something else."""
    negated = False
    while isinstance(part, Not):
        negated, part = not negated, part.operand
    match part:
        case Exists():
            related = _correlate_subquery(
                expressions, part, _drop_needless_limit(expressions.context, part.query), items=False
            )
            right, conditions = related.relation.plan, related.conditions
        case InQuery():
            negated = negated != part.negated
            related, pairs = _in_equalities(expressions, part)
            right = related.relation.plan
            conditions = [*related.conditions, *(_true_if_unknown(p) if negated else p for p in pairs)]
        case _:
            return False
    if not _outer_columns(conditions, right):
        # Whether there is any row at all: what the rows are must not count as a change.
        right = _match_marker(expressions.context, push_down_filters(right, conditions))
        conditions = []
    expressions.builder_with_columns(part, _outer_columns(conditions, right))
    site.join(right, "anti" if negated else "semi", all_of(conditions))
    return True


def subquery_value(expressions: Expressions, node: Exists | InQuery | ScalarQuery, negated: bool) -> Scalar:
    """A subquery as a value; `negated` is a NOT around IN."""
    match node:
        case Exists():
            related = _correlate_subquery(
                expressions, node, _drop_needless_limit(expressions.context, node.query), items=False
            )
            return _exists_value(expressions, node, related, related.conditions)
        case InQuery():
            related, pairs = _in_equalities(expressions, node)
            if node.negated == negated:
                return _exists_value(expressions, node, related, [*related.conditions, *pairs])
            found = _exists_value(
                expressions, node, related, [*related.conditions, *map(_true_if_unknown, pairs)]
            )
            return Call("not", (found,))
        case ScalarQuery():
            return _scalar_value(expressions, node)


def _correlate_subquery(
    expressions: Expressions, node: Node, query: Query, groups: bool = False, items: bool = True
) -> CorrelatedSubquery:
    ctes = expressions.ctes
    return correlate(
        expressions.context, query, ctes, expressions.scope, expressions.place, node, groups, items
    )


def _drop_needless_limit(context: Context, query: Query) -> Query:
    """EXISTS needs no order, and LIMIT n no more than whether n is zero."""
    plain = query.limit is not None and query.offset is None and not query.order
    if plain and query.limit is not None and whole_number(context, query.limit, "LIMIT") > 0:
        return replace(query, limit=None)
    return query


def _in_equalities(expressions: Expressions, node: InQuery) -> tuple[CorrelatedSubquery, list[Scalar]]:
    """The subquery, and an equality for each column."""
    context = expressions.context
    operand = node.operand
    operands = tuple(item.value for item in operand.items) if isinstance(operand, Row) else (operand,)
    left = expressions.scalars(operands)
    related = _correlate_subquery(expressions, node, node.query)
    columns = related.relation.fields
    if len(columns) != len(left):
        raise context.invalid(node, f"IN compares {len(left)} values with {len(columns)} columns")
    return related, [equal(a, Ref(f.plan)) for a, f in zip(left, columns, strict=True)]


def _true_if_unknown(pair: Scalar) -> Scalar:
    return Call("coalesce", (pair, TRUE))


def _outer_columns(conditions: list[Scalar], right: Plan) -> list[str]:
    """The columns of the block around that conditions read, each once."""
    there = set(right.names)
    return list(dict.fromkeys(n for c in conditions for n in refs(c) if n not in there))


def _match_marker(context: Context, plan: Plan) -> Plan:
    return Distinct(Project(plan, ((context.fresh_column("match"), TRUE),)))


# -- as a value -----------------------------------------------------------------------------------


def _exists_value(
    expressions: Expressions, node: Node, related: CorrelatedSubquery, conditions: list[Scalar]
) -> Scalar:
    """Whether the subquery has a row that meets the conditions: true or false for every row outside."""
    context, right = expressions.context, related.relation.plan
    outside = _outer_columns(conditions, right)
    site = expressions.builder_with_columns(node, outside)
    if not outside:
        marked = _match_marker(context, push_down_filters(right, conditions))
        site.join(marked, "left", TRUE)
        return _is_matched(marked.names[0])
    pairs = key_pairs(context, conditions, right, exact=related.exact)
    on: list[Scalar]
    if pairs is not None:
        keys = [(context.fresh_column("key", inner), inner) for _, inner in pairs]
        rows: Plan = Distinct(Project(right, tuple(keys)))
        on = [Call(op, (outer, Ref(key))) for ((op, outer), _), (key, _) in zip(pairs, keys, strict=True)]
    else:
        # The values outside, each once, that meet a row of the subquery.
        keys = [(context.fresh_column(name, Ref(name)), Ref(name)) for name in outside]
        names = {name: key for name, (key, _) in zip(outside, keys, strict=True)}
        values = Distinct(Project(site.plan, tuple(keys)))
        rows = Join(values, right, "semi", all_of(rename_refs(c, names) for c in conditions))
        on = [null_safe_equal(Ref(name), Ref(key)) for name, key in names.items()]
    marker = context.fresh_column("match")
    marked = Project(rows, (*((key, Ref(key)) for key, _ in keys), (marker, TRUE)))
    site.join(marked, "left", all_of(on))
    return _is_matched(marker)


def _is_matched(marker: str) -> Scalar:
    return Call("not", (Call("is null", (Ref(marker),)),))


def _scalar_value(expressions: Expressions, node: ScalarQuery) -> Scalar:
    """The value of the only row; NULL if there is none, an error if there are several."""
    context = expressions.context
    related = _correlate_subquery(expressions, node, node.query, groups=True)
    if related.block is not None:
        found = _try_grouped_scalar(expressions, node, related.block)
        if found is not None:
            return found
        related = _correlate_subquery(expressions, node, node.query)
    fields = related.relation.fields
    if len(fields) != 1:
        raise context.invalid(node, f"a scalar subquery has one column, not {len(fields)}")
    value = Ref(fields[0].plan)
    right = related.relation.plan
    outside = _outer_columns(related.conditions, right)
    site = expressions.builder_with_columns(node, outside)
    keys: list[tuple[str, Scalar]] = []
    if related.exact:
        carried = related.relation.carried or {}
        if related.relation.one_row:
            site.join(right, "left", all_of(related.conditions))
            return value
        keys = [(context.fresh_column(name, Ref(name)), Ref(name)) for name in carried.values()]
        outer = list(carried)
        rows = right
    elif outside:
        # Only the values that occur outside may raise the error, so they are joined first.
        copies = [(context.fresh_column(name, Ref(name)), Ref(name)) for name in outside]
        names = {name: copy for name, (copy, _) in zip(outside, copies, strict=True)}
        values = Distinct(Project(site.plan, tuple(copies)))
        rows = Join(values, right, "inner", all_of(rename_refs(c, names) for c in related.conditions))
        keys = [(context.fresh_column(copy, Ref(copy)), Ref(copy)) for copy, _ in copies]
        outer = outside
    else:
        if related.relation.one_row:
            site.join(right, "left", TRUE)
            return value
        keys, outer, rows = [], [], right
    result = context.fresh_column(fields[0].name or "value", value)
    single = Aggregate(rows, tuple(keys), ((result, AggregateCall("single", (value,))),))
    site.join(
        single, "left", all_of(null_safe_equal(Ref(o), Ref(k)) for o, (k, _) in zip(outer, keys, strict=True))
    )
    return Ref(result)


def _try_grouped_scalar(expressions: Expressions, node: ScalarQuery, block: Block) -> Scalar | None:
    outer = block.environment.outer
    try:
        return lower_grouped_scalar(expressions, node, block)
    except NeedsDomain as need:
        if outer is None or need.token is not outer.token:
            raise
    return None
