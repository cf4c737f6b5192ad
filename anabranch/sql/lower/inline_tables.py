"""Rows that stand in the query itself: VALUES, range(…), and functions of constants in FROM."""

from __future__ import annotations

from anabranch.algebra.plan import Values
from anabranch.algebra.scalar import TRUE, Cast, Literal, Scalar
from anabranch.sql.lower.conditions import has_subquery
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.functions import GENERATORS
from anabranch.sql.lower.generators import generate_rows
from anabranch.sql.lower.plan_builder import PlanBuilder
from anabranch.sql.lower.scope import Field, Relation, Scope
from anabranch.sql.lower.syntax.tree import InlineTable, TableFunction
from anabranch.sql.parse import format_snippet

MAX_RANGE_ROWS = 1_000


def inline_table(context: Context, node: InlineTable) -> Relation:
    """VALUES …: columns col1, col2, … unless an alias names them."""
    width = len(node.rows[0])
    expressions = Expressions(context, Scope(()), PlanBuilder(Values(())))
    rows: list[tuple[Scalar, ...]] = []
    for number, row in enumerate(node.rows, start=1):
        if len(row) != width:
            raise context.invalid(
                node, f"row {number} of VALUES has {len(row)} values, the first one {width}"
            )
        if any(has_subquery(value) for value in row):
            raise context.invalid(node, "VALUES can't hold a subquery", "write SELECT … UNION ALL SELECT ….")
        rows.append(expressions.scalars(row))
    names = [f"col{number}" for number in range(1, width + 1)]
    columns = [context.fresh_column(name) for name in names]
    fields = tuple(Field(name, column) for name, column in zip(names, columns, strict=True))
    return Relation(Values(tuple(columns), tuple(rows)), fields)


def table_function(context: Context, node: TableFunction) -> Relation:
    """A function of constants that stands in FROM."""
    if node.name == "range":
        return _range(context, node)
    if node.name in GENERATORS:
        site = PlanBuilder(Values((context.fresh_column("one"),), ((TRUE,),)))
        args = Expressions(context, Scope(()), site).scalars(node.args)
        names = node.alias.columns if node.alias is not None else ()
        plan, columns = generate_rows(context, site, node, node.name, args, node.args, names, False)
        return Relation(plan, tuple(Field(name, column) for name, column in columns))
    raise context.not_incremental(
        node,
        f"the table function {format_snippet(node.name)} can't be maintained incrementally",
        "only range() and the functions that explode a list are understood in FROM",
        "create a table with these rows",
    )


def _range(context: Context, node: TableFunction) -> Relation:
    expressions = Expressions(context, Scope(()), PlanBuilder(Values(())))
    values = [arg.value if isinstance(arg, Literal) else None for arg in expressions.scalars(node.args)]
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(numbers) != len(values) or not 1 <= len(values) <= 3 or 0 in numbers[2:]:
        raise context.not_incremental(
            node,
            "range() can't be maintained incrementally here",
            "it needs one to three whole numbers",
            "create a table of numbers",
        )
    span = range(*numbers)
    if len(span) > MAX_RANGE_ROWS:
        raise context.not_incremental(
            node,
            "range() can't be maintained incrementally here",
            f"it has {len(span)} rows; {MAX_RANGE_ROWS} are allowed",
            "create a table of numbers",
        )
    column = context.fresh_column("id")
    return Relation(Values((column,), tuple((_bigint(number),) for number in span)), (Field("id", column),))


def _bigint(number: int) -> Scalar:
    """A number whose type is BIGINT, whatever its size."""
    return Cast(Literal(number), "BIGINT")
