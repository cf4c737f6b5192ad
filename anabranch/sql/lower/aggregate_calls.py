"""One aggregate: count(DISTINCT x) FILTER (WHERE …), first(x IGNORE NULLS), percentile_cont(…) …"""

from __future__ import annotations

from decimal import Decimal

from anabranch.algebra.plan import AggregateCall
from anabranch.algebra.scalar import TRUE, Literal, Scalar
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.functions import ORDER_DEPENDENT
from anabranch.sql.lower.syntax.tree import Argument, FunctionCall, Star

_NULLS = frozenset("first last any_value first_value last_value".split())


def aggregate_call(expressions: Expressions, node: FunctionCall) -> AggregateCall:
    """The call over the rows of a group."""
    where = None if node.where is None else expressions.scalar(node.where)
    function, args = function_and_arguments(expressions, node)
    if function in ("max_by", "min_by", "mode"):
        expressions.context.add_choice_notice(
            f"{function}() may choose among equals; it is kept equal up to that choice"
        )
    elif function in ORDER_DEPENDENT:
        expressions.context.add_choice_notice(
            f"{function}() depends on an order that SQL doesn't give; it is kept equal up to that order"
        )
    return AggregateCall(function, args, node.distinct, where)


def function_and_arguments(expressions: Expressions, node: FunctionCall) -> tuple[str, tuple[Scalar, ...]]:
    """The function and its arguments, without special syntax."""
    context = expressions.context
    if node.within:
        return _within_group(expressions, node)
    if any(isinstance(arg, Argument) for arg in node.args):
        raise context.invalid(node, f"{node.name}() takes its arguments by position here")
    if any(isinstance(arg, Star) for arg in node.args):
        if node.name != "count" or node.distinct or len(node.args) != 1 or _is_qualified_star(node.args[0]):
            raise context.invalid(node, f"{node.name}(*) means nothing here", "name the columns.")
        return "count", ()
    args = expressions.scalars(node.args)
    if node.name == "count" and not node.distinct and len(args) == 1 and _is_non_null_literal(args[0]):
        return "count", ()
    if node.name == "count" and not args:
        raise context.invalid(node, "count() needs an argument", "write count(*).")
    if node.nulls == "ignore":
        if node.name not in _NULLS or len(args) != 1:
            raise context.invalid(node, f"{node.name}() can't ignore NULLs")
        args = (*args, TRUE)
    return node.name, args


def _is_qualified_star(node: object) -> bool:
    return isinstance(node, Star) and bool(node.qualifier or node.without)


def _is_non_null_literal(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is not None


def _within_group(expressions: Expressions, node: FunctionCall) -> tuple[str, tuple[Scalar, ...]]:
    """percentile_cont(p) WITHIN GROUP (ORDER BY x) is percentile(x, p); the others have no other form."""
    context = expressions.context
    args = expressions.scalars(node.args)
    share = args[0].value if len(args) == 1 and isinstance(args[0], Literal) else None
    if node.name == "percentile_cont" and len(node.within) == 1 and isinstance(share, Decimal | int):
        sort = node.within[0]
        value = expressions.scalar(sort.value)
        return "percentile", (value, Literal(1 - share if sort.descending else share))
    raise context.not_incremental(
        node,
        f"{node.name}() WITHIN GROUP can't be maintained incrementally yet",
        "an order inside an aggregate isn't understood here",
        "leave the order out",
    )
