"""What a scalar means for one row, under Spark's ANSI rules: three-valued logic, errors are raised."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from anabranch.algebra.scalar import Call, Cast, Literal, Ref, Scalar


def evaluate_scalar(scalar: Scalar, row: Mapping[str, Any]) -> Any:
    """The scalar's value for a row; NULL is None."""
    match scalar:
        case Ref(name):
            return row[name]
        case Literal(value):
            return value
        case Call(op, args):
            if (lazy := _LAZY.get(op)) is not None:
                return lazy(args, row)
            values = [evaluate_scalar(arg, row) for arg in args]
            if any(value is None for value in values):
                return None
            return _STRICT[op](*values)
        case Cast(value, kind) if kind.partition("(")[0] in _NUMBERS:
            # The reference computes with exact numbers, whatever their type.
            return evaluate_scalar(value, row)
    raise NotImplementedError("the reference can't run text that only Spark understands")


_NUMBERS = frozenset(("int", "bigint", "decimal", "double"))


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; false is below true; lists by their elements, among which NULL is lowest."""
    if isinstance(left, tuple):
        for one, other in zip(left, right, strict=False):
            if one is None or other is None:
                result = int(one is not None) - int(other is not None)
            else:
                result = compare(one, other)
            if result:
                return result
        return compare(len(left), len(right))
    return int(left > right) - int(left < right)


def _and(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    result: Any = True
    for arg in args:
        value = evaluate_scalar(arg, row)
        if value is False:
            return False
        if value is None:
            result = None
    return result


def _or(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    result: Any = False
    for arg in args:
        value = evaluate_scalar(arg, row)
        if value is True:
            return True
        if value is None:
            result = None
    return result


def _coalesce(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    for arg in args:
        if (value := evaluate_scalar(arg, row)) is not None:
            return value
    return None


def _case(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    for condition, value in zip(args[0:-1:2], args[1::2], strict=False):
        if evaluate_scalar(condition, row) is True:
            return evaluate_scalar(value, row)
    return evaluate_scalar(args[-1], row) if len(args) % 2 else None


def _in(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    return _or(tuple(Call("=", (args[0], arg)) for arg in args[1:]), row)


def _null_safe_equal(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    return evaluate_scalar(args[0], row) == evaluate_scalar(args[1], row)


def _is_null(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    return evaluate_scalar(args[0], row) is None


def _raise(args: tuple[Scalar, ...], row: Mapping[str, Any]) -> Any:
    raise ArithmeticError(str(evaluate_scalar(args[0], row)))


def _divide(left: Any, right: Any) -> Any:
    if right == 0:
        raise ZeroDivisionError("division by zero")
    return Fraction(left) / Fraction(right)


def _modulo(left: Any, right: Any) -> Any:
    if right == 0:
        raise ZeroDivisionError("division by zero")
    return left - right * int(Fraction(left) / Fraction(right))


def _like(text: str, pattern: str) -> bool:
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


_LAZY: Mapping[str, Callable[[tuple[Scalar, ...], Mapping[str, Any]], Any]] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "case": _case,
    "in": _in,
    "<=>": _null_safe_equal,
    "is null": _is_null,
    "raise": _raise,
}

_STRICT: Mapping[str, Callable[..., Any]] = {
    "=": lambda a, b: a == b,
    "~=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _modulo,
    "negate": lambda a: -a,
    "||": lambda *texts: "".join(texts),
    "abs": abs,
    "upper": str.upper,
    "lower": str.lower,
    "length": len,
    "like": _like,
}
