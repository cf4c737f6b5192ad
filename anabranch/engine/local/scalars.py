"""Scalars over rows in memory: each becomes a function of a row, and has a type.

The meaning is Spark's, or it isn't computed here. What never depends on a row and isn't plain (a date, an
interval, a function of constants) the engine is asked for, once.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import repeat
from typing import Any, Protocol

from anabranch.algebra.scalar import Call, Cast, Function, Literal, Ref, Scalar, Verbatim, children, refs
from anabranch.engine.local import kinds
from anabranch.engine.local.kinds import BOOLEAN, INT, STRING, VOID, Elsewhere, Kind
from anabranch.schema import Atomic, Decimal

Row = tuple[Any, ...]
Of = Callable[[Row], Any]
DATE = Atomic("date")
EPOCH = date(1970, 1, 1).toordinal()
DIVIDED_DIGITS = 39
"""Digits after the point to which Spark divides before it rounds to the type's."""


class Constants(Protocol):
    """Knows what constant text amounts to, and how the engine computes."""

    @property
    def divides_decimals(self) -> bool:
        """Whether the engine's quotient of two decimals is a decimal, as here."""
        ...

    def value(self, scalar: Scalar) -> tuple[Kind, Any]:
        """Type and value of a scalar that reads no column."""
        ...


@dataclass(frozen=True)
class Compiled:
    """A scalar of a known type, ready to be computed for rows."""

    kind: Kind
    of: Of


@dataclass(frozen=True)
class Columns:
    """What scalars can read: where each column stands in a row, and its type."""

    places: Mapping[str, int]
    kinds: Sequence[Kind]
    constants: Constants

    def compiled(self, scalar: Scalar) -> Compiled:
        """A scalar over these columns."""
        if _is_text(scalar) and next(refs(scalar), None) is None:
            return _constant(*self.constants.value(scalar))
        match scalar:
            case Ref(name):
                place = self.places[name]
                return Compiled(self.kinds[place], operator.itemgetter(place))
            case Literal(value):
                return _constant(*kinds.literal(value))
            case Call("/") if not self.constants.divides_decimals:
                raise Elsewhere("a quotient of decimals is a double there")
            case Call(op, args):
                return _CALLS[op](scalar, [self.compiled(arg) for arg in args])
            case Cast(value, kind, False):
                return _cast(self.compiled(value), kind)
            case Function(name, args) if name.lower() in _FUNCTIONS:
                return _FUNCTIONS[name.lower()]([*args], [self.compiled(arg) for arg in args])
            case Verbatim((str(before), Ref() as column, str(after))):
                part = _EXTRACT.fullmatch(before)
                if part is not None and after.strip() == ")":
                    return _FUNCTIONS[part[1].lower()]([column], [self.compiled(column)])
        raise Elsewhere("text that only the engine understands")

    def condition(self, scalar: Scalar) -> Of:
        """A condition over these columns."""
        found = self.compiled(scalar)
        if found.kind not in (BOOLEAN, VOID):
            raise Elsewhere("a condition that isn't one")
        return found.of


def tuples(functions: Sequence[Of], rows: Sequence[Row]) -> Iterator[Row]:
    """What some functions give for each row, together; in one pass, most of which Python does by itself.

    >>> list(tuples([operator.itemgetter(1), len], [(1, 2), (3, 4)])), list(tuples([], [(1,), (2,)]))
    ([(2, 2), (4, 2)], [(), ()])
    """
    if not functions:
        return repeat((), len(rows))
    return zip(*(map(of, rows) for of in functions), strict=True)


def _is_text(scalar: Scalar) -> bool:
    """Whether there is something in a scalar that the engine should be asked about."""
    if isinstance(scalar, Verbatim | Function | Cast):
        return True
    return any(_is_text(child) for child in children(scalar))


def _constant(kind: Kind, value: Any) -> Compiled:
    return Compiled(kind, lambda row: value)


def converted(scalar: Compiled, kind: Kind) -> Of:
    """The same values in another type that holds them."""
    change = kinds.conversion(scalar.kind, kind)
    return scalar.of if change is None else _strict(change, scalar.of)


def _strict(function: Callable[..., Any], *args: Of) -> Of:
    """NULL if an argument is."""
    if len(args) == 1:
        (only,) = args

        def one(row: Row) -> Any:
            value = only(row)
            return None if value is None else function(value)

        return one
    first, second = args

    def two(row: Row) -> Any:
        left = first(row)
        if left is None:
            return None
        right = second(row)
        return None if right is None else function(left, right)

    return two


# -- comparing ------------------------------------------------------------------------------------


def alike(left: Compiled, right: Compiled) -> tuple[Of, Of]:
    """Two values so that they can be compared as Python compares."""
    kind = kinds.common((left.kind, right.kind))
    sides = converted(left, kind), converted(right, kind)
    if kinds.is_float(kind):
        return _strict(_ordered, sides[0]), _strict(_ordered, sides[1])
    return sides


def _ordered(value: float) -> tuple[bool, float]:
    """NaN is above all, and equals itself."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def order_of(scalar: Compiled) -> Of:
    """A value so that rows can be ordered by it."""
    return alike(scalar, scalar)[0]


def _comparison(function: Callable[[Any, Any], bool]) -> Callable[[Call, list[Compiled]], Compiled]:
    def build(call: Call, args: list[Compiled]) -> Compiled:
        return Compiled(BOOLEAN, _strict(function, *alike(*args)))

    return build


def _same(call: Call, args: list[Compiled]) -> Compiled:
    left, right = alike(*args)
    return Compiled(BOOLEAN, lambda row: left(row) == right(row))


def _in(call: Call, args: list[Compiled]) -> Compiled:
    kind = kinds.common(arg.kind for arg in args)
    if kinds.is_float(kind):
        raise Elsewhere("floating point")
    value, *others = (converted(arg, kind) for arg in args)

    def found(row: Row) -> Any:
        wanted = value(row)
        if wanted is None:
            return None
        unknown = False
        for other in others:
            item = other(row)
            if item == wanted:
                return True
            unknown = unknown or item is None
        return None if unknown else False

    return Compiled(BOOLEAN, found)


# -- logic ----------------------------------------------------------------------------------------


def _connective(decides: bool) -> Callable[[Call, list[Compiled]], Compiled]:
    """AND and OR: one value decides, and NULL is what nothing decided."""

    def build(call: Call, args: list[Compiled]) -> Compiled:
        _check_conditions(args)
        parts = tuple(arg.of for arg in args)

        def judged(row: Row) -> Any:
            result: bool | None = not decides
            for part in parts:
                value = part(row)
                if value is decides:
                    return decides
                if value is None:
                    result = None
            return result

        return Compiled(BOOLEAN, judged)

    return build


def _not(call: Call, args: list[Compiled]) -> Compiled:
    _check_conditions(args)
    return Compiled(BOOLEAN, _strict(operator.not_, args[0].of))


def _check_conditions(args: Sequence[Compiled]) -> None:
    if any(arg.kind not in (BOOLEAN, VOID) for arg in args):
        raise Elsewhere("a condition that isn't one")


def _is_null(call: Call, args: list[Compiled]) -> Compiled:
    of = args[0].of
    return Compiled(BOOLEAN, lambda row: of(row) is None)


def _coalesce(call: Call, args: list[Compiled]) -> Compiled:
    kind = kinds.common(arg.kind for arg in args)
    parts = tuple(converted(arg, kind) for arg in args)

    def first(row: Row) -> Any:
        for part in parts:
            if (value := part(row)) is not None:
                return value
        return None

    return Compiled(kind, first)


def _case(call: Call, args: list[Compiled]) -> Compiled:
    _check_conditions(args[0:-1:2])
    last = args[-1] if len(args) % 2 else _constant(VOID, None)
    kind = kinds.common(value.kind for value in (*args[1::2], last))
    pairs = [(c.of, converted(v, kind)) for c, v in zip(args[0:-1:2], args[1::2], strict=False)]
    otherwise = converted(last, kind)

    def chosen(row: Row) -> Any:
        for condition, value in pairs:
            if condition(row) is True:
                return value(row)
        return otherwise(row)

    return Compiled(kind, chosen)


def _raise(call: Call, args: list[Compiled]) -> Compiled:
    def fail(row: Row) -> Any:
        raise Elsewhere("an error")

    return Compiled(VOID, fail)


# -- numbers --------------------------------------------------------------------------------------


def _checked(function: Callable[..., int], kind: Kind, *args: Of) -> Compiled:
    low, high = kinds.limit(kind)

    def computed(*values: int) -> int:
        result = function(*values)
        if not low <= result <= high:
            raise Elsewhere("a number doesn't fit")
        return result

    return Compiled(kind, _strict(computed, *args))


def _decimals(call: Call, args: list[Compiled]) -> list[Decimal]:
    """The types of two numbers of which one is a decimal: a number in the text takes no more digits than
    it has."""
    found = []
    for scalar, arg in zip(call.args, args, strict=True):
        plain = isinstance(scalar, Literal) and kinds.is_whole(arg.kind)
        found.append(kinds.least_decimal(arg.of(())) if plain else kinds.as_decimal(arg.kind))
    return found


def _arithmetic(
    function: Callable[[int, int], int], of_decimals: Callable[[Decimal, Decimal], Decimal], *, add: bool
) -> Callable[[Call, list[Compiled]], Compiled]:
    def build(call: Call, args: list[Compiled]) -> Compiled:
        left, right = args
        if kinds.is_whole(left.kind) and kinds.is_whole(right.kind):
            return _checked(function, kinds.wider(left.kind, right.kind), left.of, right.of)
        if VOID in (left.kind, right.kind):
            raise Elsewhere("a number that is always NULL")
        one, two = _decimals(call, args)
        kind = of_decimals(one, two)
        if not add:
            return _checked(function, kind, left.of, right.of)
        return _checked(function, kind, *(_scaled(arg, kind.scale) for arg in args))

    return build


def _scaled(scalar: Compiled, scale: int) -> Of:
    """A number with so many digits behind the point, which are no fewer than it has."""
    factor = 10 ** (scale - kinds.scale_of(scalar.kind))
    return scalar.of if factor == 1 else _strict(lambda value: value * factor, scalar.of)


def _divide(call: Call, args: list[Compiled]) -> Compiled:
    if not any(isinstance(arg.kind, Decimal) for arg in args):
        raise Elsewhere("floating point")
    one, two = _decimals(call, args)
    kind = kinds.quotient_of(one, two)
    return _checked(divider(one.scale, two.scale, kind.scale), kind, *(arg.of for arg in args))


def divider(dividend: int, divisor: int, scale: int) -> Callable[[int, int], int]:
    """What divides numbers of two scales, rounded as Spark rounds: to many digits first, then to a scale."""
    shift = 10 ** (DIVIDED_DIGITS + divisor - dividend)
    drop = 10 ** (DIVIDED_DIGITS - scale)

    def divide(left: int, right: int) -> int:
        if right == 0:
            raise Elsewhere("a division by zero")
        return kinds.rounded_quotient(kinds.rounded_quotient(left * shift, right), drop)

    return divide


def _modulo(call: Call, args: list[Compiled]) -> Compiled:
    left, right = args
    if not (kinds.is_whole(left.kind) and kinds.is_whole(right.kind)):
        raise Elsewhere("a remainder of decimals")
    return _checked(_rest, kinds.wider(left.kind, right.kind), left.of, right.of)


def _rest(left: int, right: int) -> int:
    """The remainder has the sign of what is divided."""
    if right == 0:
        raise Elsewhere("a division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _unary(function: Callable[[int], int]) -> Callable[[Call, list[Compiled]], Compiled]:
    def build(call: Call, args: list[Compiled]) -> Compiled:
        if not kinds.is_exact(args[0].kind):
            raise Elsewhere("floating point")
        return _checked(function, args[0].kind, args[0].of)

    return build


# -- texts ----------------------------------------------------------------------------------------


def _check_texts(args: Sequence[Compiled]) -> None:
    if any(arg.kind != STRING for arg in args):
        raise Elsewhere("something else than texts")


def _text(function: Callable[[str], Any], kind: Kind) -> Callable[[Call, list[Compiled]], Compiled]:
    def build(call: Call, args: list[Compiled]) -> Compiled:
        _check_texts(args)
        return Compiled(kind, _strict(function, args[0].of))

    return build


def _ascii(function: Callable[[str], str]) -> Callable[[str], str]:
    """Beyond ASCII, Java's letters have other cases than Python's."""

    def changed(text: str) -> str:
        if not text.isascii():
            raise Elsewhere("letters beyond ASCII")
        return function(text)

    return changed


def _concatenation(call: Call, args: list[Compiled]) -> Compiled:
    _check_texts(args)
    parts = tuple(arg.of for arg in args)

    def joined(row: Row) -> Any:
        texts = [part(row) for part in parts]
        return None if None in texts else "".join(texts)

    return Compiled(STRING, joined)


def _like(call: Call, args: list[Compiled]) -> Compiled:
    _check_texts(args)
    pattern = call.args[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str) or "\\" in pattern.value:
        raise Elsewhere("a pattern that isn't plain")
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(letter, re.escape(letter)) for letter in pattern.value)
    matches = re.compile(regex, re.DOTALL).fullmatch
    return Compiled(BOOLEAN, _strict(lambda text: matches(text) is not None, args[0].of))


def _substring(scalars: list[Scalar], args: list[Compiled]) -> Compiled:
    """From a place that counts from one, so many letters; both stand in the text."""
    places = [scalar.value for scalar in scalars[1:] if isinstance(scalar, Literal)]
    if len(scalars) != 3 or len(places) != 2 or args[0].kind != STRING:
        raise Elsewhere("a part of a text that isn't plain")
    start, length = places
    if not isinstance(start, int) or not isinstance(length, int) or start < 1 or length < 0:
        raise Elsewhere("a part of a text that isn't plain")
    return Compiled(STRING, _strict(lambda text: text[start - 1 : start - 1 + length], args[0].of))


# -- dates ----------------------------------------------------------------------------------------


def _date_part(part: str) -> Callable[[list[Scalar], list[Compiled]], Compiled]:
    take = operator.attrgetter(part)

    def build(scalars: list[Scalar], args: list[Compiled]) -> Compiled:
        if [arg.kind for arg in args] != [DATE]:
            raise Elsewhere("something else than a date")
        return Compiled(INT, _strict(lambda days: take(_date(days)), args[0].of))

    return build


def _date(days: int) -> date:
    try:
        return date.fromordinal(EPOCH + days)
    except (ValueError, OverflowError) as error:
        raise Elsewhere("a date that Python doesn't have") from error


# -- types ----------------------------------------------------------------------------------------


def _cast(value: Compiled, name: str) -> Compiled:
    kind = _kind_named(name)
    if value.kind in (VOID, kind):
        return Compiled(kind, value.of)
    if not (kinds.is_exact(value.kind) and kinds.is_exact(kind)):
        raise Elsewhere(f"a cast from {value.kind} to {kind}")
    shift = kinds.scale_of(kind) - kinds.scale_of(value.kind)
    if shift >= 0:
        return Compiled(kind, converted(value, kind))
    if not isinstance(kind, Decimal):
        raise Elsewhere("digits are cut off")
    divisor = 10**-shift
    return _checked(lambda number: kinds.rounded_quotient(number, divisor), kind, value.of)


def _kind_named(name: str) -> Kind:
    text = name.strip().lower()
    if found := re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", text):
        return Decimal(int(found[1]), int(found[2]))
    if text in kinds.HELD:
        return Atomic(text)
    raise Elsewhere(f"the type {name}")


_CALLS: Mapping[str, Callable[[Call, list[Compiled]], Compiled]] = {
    "=": _comparison(operator.eq),
    "~=": _comparison(operator.eq),
    "<>": _comparison(operator.ne),
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "<=>": _same,
    "in": _in,
    "and": _connective(False),
    "or": _connective(True),
    "not": _not,
    "is null": _is_null,
    "coalesce": _coalesce,
    "case": _case,
    "raise": _raise,
    "+": _arithmetic(operator.add, kinds.sum_of, add=True),
    "-": _arithmetic(operator.sub, kinds.sum_of, add=True),
    "*": _arithmetic(operator.mul, kinds.product_of, add=False),
    "/": _divide,
    "%": _modulo,
    "negate": _unary(operator.neg),
    "abs": _unary(abs),
    "||": _concatenation,
    "upper": _text(_ascii(str.upper), STRING),
    "lower": _text(_ascii(str.lower), STRING),
    "length": _text(len, INT),
    "like": _like,
}

_FUNCTIONS: Mapping[str, Callable[[list[Scalar], list[Compiled]], Compiled]] = {
    "substring": _substring,
    "substr": _substring,
    "year": _date_part("year"),
    "month": _date_part("month"),
    "day": _date_part("day"),
}
_EXTRACT = re.compile(r"\s*extract\s*\(\s*(year|month|day)\s+from\s+", re.IGNORECASE)
