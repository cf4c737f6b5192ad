"""Function calls: those that every back end knows become operators, the others keep their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.algebra.scalar import NULL, Call, Function, Literal, Ref, Scalar, equal
from anabranch.sql.lower.check_functions import check_callable
from anabranch.sql.lower.syntax.tree import Argument, FunctionCall, Lambda
from anabranch.sql.lower.verbatim import lower_verbatim

if TYPE_CHECKING:
    from anabranch.sql.lower.expressions import Expressions

_OPERATORS = {
    "abs": "abs",
    "upper": "upper",
    "lower": "lower",
    "length": "length",
    "coalesce": "coalesce",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "isnull": "is null",
}
_ONE_ARGUMENT = frozenset(["abs", "upper", "lower", "length", "isnull"])
_TWO_ARGUMENTS = frozenset(["nvl", "ifnull"])


def lower_call(expressions: Expressions, node: FunctionCall) -> Scalar:
    """A call that isn't an aggregate, a window function or a generator; those are computed elsewhere."""
    check_callable(expressions.context, node)
    if any(isinstance(arg, Lambda | Argument) for arg in node.args):
        return lower_verbatim(expressions, node)
    args = expressions.scalars(node.args)
    match node.name, args:
        case ("if", (condition, yes, no)):
            return Call("case", (condition, yes, no))
        case ("nullif", (left, right)):
            return Call("case", (equal(left, right), NULL, left))
        case ("isnotnull", (value,)):
            return Call("not", (Call("is null", (value,)),))
        case ("arrays_zip", _):
            _check_field_names(expressions, node, args)
    if node.name in _OPERATORS and _has_matching_arity(node.name, len(args)):
        return Call(_OPERATORS[node.name], args)
    return Function(node.name, args)


def _has_matching_arity(name: str, count: int) -> bool:
    if name in _ONE_ARGUMENT:
        return count == 1
    return count == 2 if name in _TWO_ARGUMENTS else count >= 1


def _check_field_names(expressions: Expressions, node: FunctionCall, args: tuple[Scalar, ...]) -> None:
    """arrays_zip names the fields of its structs after the columns it is given."""
    context = expressions.context
    for arg, scalar in zip(node.args, args, strict=True):
        if isinstance(scalar, Ref | Literal) and scalar != Ref(context.text(arg).lower()):
            raise context.not_incremental(
                node,
                "arrays_zip() can't be maintained incrementally here",
                "it names its fields after columns, which have other names in the plan",
                "write zip_with(a, b, (x, y) -> named_struct('a', x, 'b', y))",
            )
