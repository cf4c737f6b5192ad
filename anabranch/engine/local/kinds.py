"""The types of values that are computed here, by Spark's rules under ANSI.

Values are Python's: whole numbers and decimals are `int`, a decimal without its point (12.50 is 1250 of
scale 2); dates are days and timestamps microseconds since 1970; there is one NaN, and no minus zero. So
equal values are equal, and their order is Spark's, but for NaN.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from anabranch.schema import MAX_DECIMAL_PRECISION, Atomic, Decimal, Type

MIN_SCALE_KEPT = 6
"""So many digits after the point Spark keeps when it must shorten a number."""


class Elsewhere(Exception):
    """This isn't computed here. The engine knows how, or which error it is."""


@dataclass(frozen=True)
class Void:
    """The type of a NULL that nothing says more about."""

    def __str__(self) -> str:
        return "VOID"


Kind = Type | Void
VOID = Void()
BOOLEAN, STRING, DOUBLE = Atomic("boolean"), Atomic("string"), Atomic("double")
INT, BIGINT = Atomic("int"), Atomic("bigint")

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
FLOATS = frozenset(("float", "double"))
HELD = frozenset((*_BITS, *FLOATS, "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz"))
"""The types without parts whose values can be computed with here."""


def is_held(kind: Type) -> bool:
    """Whether values of a type can be computed with here."""
    return isinstance(kind, Decimal) or (isinstance(kind, Atomic) and kind.name in HELD)


def is_whole(kind: Kind) -> bool:
    """Whether it is a type of whole numbers."""
    return isinstance(kind, Atomic) and kind.name in _BITS


def is_exact(kind: Kind) -> bool:
    """Whether it is a type of exact numbers."""
    return isinstance(kind, Decimal) or is_whole(kind)


def is_float(kind: Kind) -> bool:
    """Whether it is a type of floating point."""
    return isinstance(kind, Atomic) and kind.name in FLOATS


def scale_of(kind: Kind) -> int:
    """How many digits of an exact number stand after the point."""
    return kind.scale if isinstance(kind, Decimal) else 0


def as_decimal(kind: Kind) -> Decimal:
    """The decimal that holds all numbers of an exact type."""
    if isinstance(kind, Decimal):
        return kind
    if isinstance(kind, Atomic) and kind.name in _DIGITS:
        return Decimal(_DIGITS[kind.name], 0)
    raise Elsewhere(f"{kind} is no exact number")


def literal(value: object) -> tuple[Kind, Any]:
    """Type and value of a constant as it stands in a statement.

    >>> literal(decimal.Decimal("0.05"))
    (Decimal(precision=2, scale=2), 5)
    """
    match value:
        case None:
            return VOID, None
        case bool():
            return BOOLEAN, value
        case str():
            return STRING, value
        case int():
            return _whole(value), value
        case decimal.Decimal():
            shown = format(abs(value), "f")
            whole, point, fraction = shown.partition(".")
            if not point:
                return literal(int(value))
            number = int(whole + fraction)
            precision = max(len(str(number)), len(fraction))
            if precision > MAX_DECIMAL_PRECISION:
                raise Elsewhere("a number of too many digits")
            return Decimal(precision, len(fraction)), -number if value < 0 else number
    raise Elsewhere("floating point")


def _whole(value: int) -> Kind:
    for kind in (INT, BIGINT):
        if fits(value, kind):
            return kind
    if len(str(abs(value))) > MAX_DECIMAL_PRECISION:
        raise Elsewhere("a number of too many digits")
    return Decimal(len(str(abs(value))), 0)


def least_decimal(value: int) -> Decimal:
    """The decimal that a whole number in a statement becomes beside decimals."""
    return Decimal(len(str(abs(value))), 0)


def limit(kind: Kind) -> tuple[int, int]:
    """The lowest and the highest number of an exact type."""
    if isinstance(kind, Decimal):
        highest: int = 10**kind.precision - 1
        return -highest, highest
    assert isinstance(kind, Atomic)
    half: int = 1 << (_BITS[kind.name] - 1)
    return -half, half - 1


def fits(value: int, kind: Kind) -> bool:
    """Whether a number is one of an exact type."""
    low, high = limit(kind)
    return low <= value <= high


def wider(left: Kind, right: Kind) -> Kind:
    """The wider of two types of whole numbers."""
    assert isinstance(left, Atomic)
    assert isinstance(right, Atomic)
    return left if _BITS[left.name] >= _BITS[right.name] else right


def sum_of(left: Decimal, right: Decimal) -> Decimal:
    """The type of a sum or difference of decimals."""
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale)
    return shortened(digits + scale + 1, scale)


def product_of(left: Decimal, right: Decimal) -> Decimal:
    """The type of a product of decimals."""
    return shortened(left.precision + right.precision + 1, left.scale + right.scale)


def quotient_of(left: Decimal, right: Decimal) -> Decimal:
    """The type of a quotient of decimals; digits after the point are cut off where Spark does."""
    scale = max(MIN_SCALE_KEPT, left.scale + right.precision + 1)
    precision = left.precision - left.scale + right.scale + scale
    return Decimal(*_adjusted(precision, scale))


def shortened(precision: int, scale: int) -> Decimal:
    """A decimal of so many digits, if Spark cuts none off behind the point."""
    found = _adjusted(precision, scale)
    if found[1] != scale:
        raise Elsewhere("digits are cut off")
    return Decimal(*found)


def _adjusted(precision: int, scale: int) -> tuple[int, int]:
    if precision <= MAX_DECIMAL_PRECISION:
        return precision, scale
    whole = precision - scale
    kept = max(MAX_DECIMAL_PRECISION - whole, min(scale, MIN_SCALE_KEPT))
    return MAX_DECIMAL_PRECISION, kept


def total_of(kind: Kind) -> Kind:
    """The type of a sum over rows."""
    if is_whole(kind):
        return BIGINT
    if isinstance(kind, Decimal):
        return Decimal(min(kind.precision + 10, MAX_DECIMAL_PRECISION), kind.scale)
    if kind == VOID:
        return VOID
    raise Elsewhere(f"a sum of {kind}")


def common(kinds: Iterable[Kind]) -> Kind:
    """The type that holds the values of several."""
    found: Kind = VOID
    for kind in kinds:
        if found in (VOID, kind):
            found = kind
        elif kind == VOID:
            continue
        elif is_whole(found) and is_whole(kind):
            found = wider(found, kind)
        elif is_exact(found) and is_exact(kind):
            found = _common_decimal(as_decimal(found), as_decimal(kind))
        else:
            raise Elsewhere(f"{found} and {kind} together")
    return found


def _common_decimal(left: Decimal, right: Decimal) -> Decimal:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    if digits > MAX_DECIMAL_PRECISION:
        raise Elsewhere("digits are cut off")
    return Decimal(digits, scale)


def conversion(given: Kind, wanted: Kind) -> Callable[[Any], Any] | None:
    """What makes of a value, not NULL, the same value in another type; None: it is that already.

    Numbers that don't fit, or would lose digits, aren't for here.
    """
    if given in (wanted, VOID):
        return None
    if not (is_exact(given) and is_exact(wanted)):
        raise Elsewhere(f"from {given} to {wanted}")
    shift = scale_of(wanted) - scale_of(given)
    if shift < 0:
        raise Elsewhere("digits are cut off")
    if shift == 0 and limit(given)[1] <= limit(wanted)[1]:
        return None
    factor = 10**shift
    low, high = limit(wanted)

    def converted(value: Any) -> Any:
        value *= factor
        if not low <= value <= high:
            raise Elsewhere("a number doesn't fit")
        return value

    return converted


def rounded_quotient(dividend: int, divisor: int) -> int:
    """A quotient to the nearest whole number, halves away from zero."""
    quotient, rest = divmod(abs(dividend), abs(divisor))
    quotient += 2 * rest >= abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient
