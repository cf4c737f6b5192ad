"""BETWEEN, IN, LIKE and IS, as operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.algebra.scalar import FALSE, TRUE, Call, Function, Literal, Scalar, null_safe_equal
from anabranch.sql.lower.syntax.tree import Between, InList, IsDistinct, IsTest, Like
from anabranch.sql.lower.verbatim import lower_verbatim

if TYPE_CHECKING:
    from anabranch.sql.lower.expressions import Expressions

Predicate = Between | InList | Like | IsTest | IsDistinct


def lower_predicate(expressions: Expressions, node: Predicate) -> Scalar:
    """A predicate, with its NOT."""
    if isinstance(node, Like) and node.escaped:
        return lower_verbatim(expressions, node)
    if isinstance(node, Like):
        return _like(expressions, node)
    found = _lower_without_not(expressions, node)
    return _negate(found) if node.negated else found


def _lower_without_not(expressions: Expressions, node: Between | InList | IsTest | IsDistinct) -> Scalar:
    match node:
        case Between(operand=operand, low=low, high=high):
            value = expressions.scalar(operand)
            bounds = (
                Call(">=", (value, expressions.scalar(low))),
                Call("<=", (value, expressions.scalar(high))),
            )
            return Call("and", bounds)
        case InList(operand=operand, items=items):
            return Call("in", (expressions.scalar(operand), *expressions.scalars(items)))
        case IsDistinct(left=left, right=right):
            return _negate(null_safe_equal(expressions.scalar(left), expressions.scalar(right)))
        case IsTest(operand=operand, what="null" | "unknown"):
            return Call("is null", (expressions.scalar(operand),))
        case IsTest(operand=operand, what=what):
            return null_safe_equal(expressions.scalar(operand), TRUE if what == "true" else FALSE)


def _like(expressions: Expressions, node: Like) -> Scalar:
    """NOT LIKE ANY asks whether one of the patterns doesn't match: the NOT belongs to each."""
    value = expressions.scalar(node.operand)
    tests = tuple(_pattern(node.kind, value, expressions.scalar(pattern)) for pattern in node.patterns)
    if node.negated:
        tests = tuple(_negate(test) for test in tests)
    if node.quantifier is None:
        return tests[0]
    return Call("and" if node.quantifier == "all" else "or", tests)


def _pattern(kind: str, value: Scalar, pattern: Scalar) -> Scalar:
    """The reference knows no escapes, so LIKE is an operator only where the pattern shows it has none."""
    if kind == "like" and isinstance(pattern, Literal) and "\\" not in str(pattern.value):
        return Call("like", (value, pattern))
    return Function(kind, (value, pattern))


def _negate(scalar: Scalar) -> Scalar:
    match scalar:
        case Call("not", (inner,)):
            return inner
        case _:
            return Call("not", (scalar,))
