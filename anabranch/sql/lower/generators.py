"""Functions that make several rows of one: explode, posexplode, inline, stack."""

from __future__ import annotations

from anabranch.algebra.plan import Generate, Plan, Project, UnionAll
from anabranch.algebra.scalar import NULL, Literal, Ref, Scalar
from anabranch.schema import Array, Map, Struct
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.plan_builder import PlanBuilder
from anabranch.sql.lower.syntax.tree import Expression, FunctionCall, Node

MAX_STACKED_ROWS = 100


def generate_rows(
    context: Context,
    site: PlanBuilder,
    node: Node,
    function: str,
    args: tuple[Scalar, ...],
    nodes: tuple[Expression, ...],
    names: tuple[str, ...],
    outer: bool,
) -> tuple[Plan, list[tuple[str, str]]]:
    """The rows with the generated columns behind them: (name for the user, name in the plan)."""
    if function.endswith("_outer"):
        function, outer = function.removesuffix("_outer"), True
    if function == "stack":
        return _stack_rows(context, site, node, args, names)
    if function not in ("explode", "posexplode", "inline"):
        raise context.not_incremental(
            node,
            f"{function}() can't be maintained incrementally yet",
            "it isn't understood here",
            "use from_json and explode",
        )
    if len(args) != 1:
        raise context.invalid(node, f"{function}() takes one argument, not {len(args)}")
    found = names or _default_names(context, node, function, args[0], nodes[0])
    columns = [(name, context.fresh_column(name)) for name in found]
    plan = Generate(site.plan, function, args[0], tuple(column for _, column in columns), outer)
    return plan, columns


def _default_names(
    context: Context, node: Node, function: str, scalar: Scalar, arg: Expression
) -> tuple[str, ...]:
    """What Spark calls the columns, where the type of the list or map is known."""
    kind = context.type_of(scalar)
    position = ("pos",) if function == "posexplode" else ()
    if function == "inline" and isinstance(kind, Array) and isinstance(kind.element, Struct):
        return tuple(part.name for part in kind.element.fields)
    if function != "inline" and isinstance(kind, Map):
        return (*position, "key", "value")
    is_array = isinstance(kind, Array) or (
        isinstance(arg, FunctionCall) and arg.name in ("array", "split", "sequence")
    )
    if function != "inline" and is_array:
        return (*position, "col")
    raise context.invalid(
        node, f"the columns that {function}() makes have no names", f"write {function}(…) AS (a, b)."
    )


def _stack_rows(
    context: Context, site: PlanBuilder, node: Node, args: tuple[Scalar, ...], names: tuple[str, ...]
) -> tuple[Plan, list[tuple[str, str]]]:
    """stack(n, …): each row n times, every time with other values; that is a union of projections."""
    count = args[0].value if args and isinstance(args[0], Literal) else None
    if not isinstance(count, int) or not 1 <= count <= MAX_STACKED_ROWS or len(args) < 2:
        raise context.invalid(
            node, "stack() needs a number of rows and values", f"stack(2, a, b), at most {MAX_STACKED_ROWS}."
        )
    values = args[1:]
    width = -(-len(values) // count)
    found = names or tuple(f"col{number}" for number in range(width))
    if len(found) != width:
        raise context.invalid(node, f"{len(found)} names for {width} columns")
    columns = [(name, context.fresh_column(name)) for name in found]
    kept = tuple((name, Ref(name)) for name in site.plan.names)
    padded = [*values, *[NULL] * (width * count - len(values))]
    parts = tuple(
        Project(site.plan, (*kept, *((c, padded[row * width + i]) for i, (_, c) in enumerate(columns))))
        for row in range(count)
    )
    return UnionAll(parts), columns
