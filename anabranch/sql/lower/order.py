"""ORDER BY and LIMIT.

A table has no order, so an order matters only where LIMIT or OFFSET cut. Ties would make the cut
arbitrary: all columns of the result follow the keys that were asked for. A single row has an order
anyway, and no LIMIT but zero cuts it.
"""

from __future__ import annotations

from anabranch.algebra.evaluate_scalar import evaluate_scalar
from anabranch.algebra.plan import Filter, Plan, Project, SortKey, Top, Values, Window, WindowCall
from anabranch.algebra.row_bounds import has_at_most_one_row
from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, all_of
from anabranch.schema import Array, Map, Struct, Type
from anabranch.sql.lower.conditions import has_subquery
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.outer_columns import outer_block
from anabranch.sql.lower.plan_builder import PlanBuilder
from anabranch.sql.lower.scope import Environment, Relation, Scope
from anabranch.sql.lower.syntax.tree import Expression, Node, Number, Query, Sort


def has_limit(query: Query) -> bool:
    """Whether LIMIT or OFFSET cut rows off."""
    return query.limit is not None or query.offset is not None


def limit_and_offset(context: Context, query: Query, plan: Plan) -> tuple[int | None, int]:
    """LIMIT and OFFSET of a plan's rows, refused where no order says which rows they mean."""
    limit = None if query.limit is None else whole_number(context, query.limit, "LIMIT")
    offset = 0 if query.offset is None else whole_number(context, query.offset, "OFFSET")
    if not query.order and limit != 0 and not has_at_most_one_row(plan):
        node: Node = query.limit or query.offset or query
        word = "OFFSET" if query.limit is None else "LIMIT"
        raise context.not_incremental(
            node,
            f"{word} without ORDER BY can't be maintained incrementally",
            "which rows it means changes from refresh to refresh",
            "add ORDER BY",
        )
    return limit, offset


def whole_number(context: Context, node: Expression, what: str) -> int:
    """The value of a constant expression."""
    scalar = Expressions(context, Scope(()), PlanBuilder(Values(()))).scalar(node)
    try:
        value = evaluate_scalar(scalar, {})
    except (NotImplementedError, ArithmeticError, TypeError):
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise context.invalid(node, f"{what} needs a whole number")
    return value


def sort_key(scalar: Scalar, sort: Sort) -> SortKey:
    """The scalar in the order that was asked for."""
    return SortKey(scalar, sort.descending, sort.nulls_first)


def has_order(kind: Type | None) -> bool:
    """Whether Spark can sort by a column of this type; what isn't known is taken to be plain."""
    match kind:
        case Map():
            return False
        case Array(element, _):
            return has_order(element)
        case Struct(fields):
            return all(has_order(field.type) for field in fields)
        case _:
            return True


def order_position(context: Context, sort: Sort, count: int) -> int | None:
    """Which column ORDER BY 2 means."""
    node = sort.value
    if not isinstance(node, Number) or not node.text.lstrip("-").isdecimal():
        return None
    if not 1 <= int(node.text) <= count:
        raise context.invalid(node, f"ORDER BY {node.text} is not a column of the result, which has {count}")
    return int(node.text) - 1


def limit_result(context: Context, relation: Relation, query: Query, environment: Environment) -> Relation:
    """The first rows of a result that is complete: its order can only use its columns."""
    limit, offset = limit_and_offset(context, query, relation.plan)
    site = PlanBuilder(relation.plan)
    scope = Scope(relation.fields, outer_block(environment, relation.carried))
    expressions = Expressions(context, scope, site)
    columns = [Ref(field.plan) for field in relation.fields]
    keys: list[SortKey] = []
    if query.order_all:
        keys = [sort_key(column, query.order[0]) for column in columns]
    for sort in [] if query.order_all else query.order:
        if has_subquery(sort.value):
            raise context.invalid(
                sort, "ORDER BY can't hold a subquery here", "compute it in the SELECT list."
            )
        position = order_position(context, sort, len(columns))
        scalar = expressions.scalar(sort.value) if position is None else columns[position]
        keys.append(sort_key(scalar, sort))
    relation = Relation(site.plan, relation.fields, relation.carried)
    return Relation(first_rows(context, relation, keys, limit, offset), relation.fields, relation.carried)


def first_rows(
    context: Context, relation: Relation, keys: list[SortKey], limit: int | None, offset: int
) -> Plan:
    """The first rows of a relation; in a correlated query, the first rows for each row outside."""
    if limit != 0 and not offset and has_at_most_one_row(relation.plan):
        return relation.plan
    carried = set((relation.carried or {}).values())
    sorted_by = {key.scalar for key in keys}
    more = [
        SortKey(Ref(name))
        for name in relation.plan.names
        if Ref(name) not in sorted_by and name not in carried and has_order(context.types.get(name))
    ]
    if more:
        context.add_choice_notice("rows that tie in ORDER BY … LIMIT are ordered by all their columns")
    order = (*keys, *more)
    if relation.carried is None:
        return Top(relation.plan, order, limit, offset)
    number = context.fresh_column("row_number")
    partition = tuple(Ref(name) for name in relation.carried.values())
    numbered = Window(relation.plan, ((number, WindowCall("row_number", (), partition, order)),))
    bounds = [Call(">", (Ref(number), Literal(offset)))] if offset else []
    if limit is not None:
        bounds.append(Call("<=", (Ref(number), Literal(offset + limit))))
    kept = tuple((name, Ref(name)) for name in relation.plan.names)
    return Project(Filter(numbered, all_of(bounds)), kept)
