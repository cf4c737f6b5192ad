"""Function calls, and the syntax that looks like one: CAST(x AS t), EXTRACT(f FROM x), TRIM(BOTH …).

Some begin like an ordinary call. What was read of the arguments by then is handed on, not read again:
nested a hundred deep, reading twice would take for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf

from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import (
    Argument,
    CastTo,
    Expression,
    FunctionCall,
    Item,
    Row,
    Sort,
    SpecialSyntax,
    WindowSpec,
)
from anabranch.sql.lower.syntax.type_names import type_text
from anabranch.sql.lower.syntax.windows import window_spec

_TIME_UNITS = frozenset(
    "YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND".split()
)
_ADDING = frozenset("TIMESTAMPADD DATEADD DATE_ADD".split())
_SUBTRACTING = frozenset("TIMESTAMPDIFF DATEDIFF DATE_DIFF TIMEDIFF".split())


def call(reader: Reader) -> Expression:
    """The call whose name stands here."""
    first = reader.at
    lexeme = reader.step()
    reader.expect("(")
    special = _SPECIAL.get(lexeme.word)
    return special(reader, first) if special else _plain(reader, first, lexeme.name.lower())


def _plain(reader: Reader, first: int, name: str) -> Expression:
    distinct = reader.take("DISTINCT")
    if not distinct and reader.word() == "ALL" and reader.sign(1) not in (")", ",", "."):
        reader.at += 1
    args = [] if reader.sign() == ")" else [_argument(reader)]
    return _finish_call(reader, first, name, args, distinct)


def _finish_call(
    reader: Reader, first: int, name: str, args: list[Expression], distinct: bool = False
) -> Expression:
    """The call from behind its first arguments."""
    while args and reader.take(","):
        args.append(_argument(reader))
    nulls: OneOf["ignore", "respect"] | None = None
    if name in ("first", "last", "any_value") and reader.take("IGNORE", "NULLS"):
        nulls = "ignore"
    reader.expect(")")
    within = _within_group(reader)
    where = _filter(reader)
    if reader.word(1) == "NULLS" and reader.word() in ("IGNORE", "RESPECT"):
        nulls = "ignore" if reader.step().word == "IGNORE" else "respect"
        reader.at += 1
    over: WindowSpec | str | None = None
    if reader.word() == "OVER" and (reader.sign(1) == "(" or reader.is_name(1)):
        reader.at += 1
        over = window_spec(reader)
    return FunctionCall(first, reader.at, name, tuple(args), distinct, within, where, nulls, over)


def _within_group(reader: Reader) -> tuple[Sort, ...]:
    if not reader.take("WITHIN", "GROUP"):
        return ()
    reader.expect("(", "ORDER", "BY")
    found = reader.sorts()
    reader.expect(")")
    return found


def _filter(reader: Reader) -> Expression | None:
    if not reader.take("FILTER", "("):
        return None
    reader.expect("WHERE")
    found = reader.expression()
    reader.expect(")")
    return found


def _argument(reader: Reader) -> Expression:
    first = reader.at
    if reader.is_name() and reader.sign(1) == "=>":
        name = reader.any_name()
        reader.expect("=>")
        value = reader.expression()
        return Argument(first, reader.at, name, value)
    return reader.expression()


# -- syntax of its own; the opening bracket is behind us ------------------------------------------


def _cast(reader: Reader, first: int) -> Expression:
    quietly = reader.sql.lexemes[first].word == "TRY_CAST"
    operand = reader.expression()
    reader.expect("AS")
    kind = type_text(reader)
    reader.expect(")")
    return CastTo(first, reader.at, operand, kind, quietly)


def _struct(reader: Reader, first: int) -> Expression:
    items: list[Item] = []
    while reader.sign() != ")":
        start = reader.at
        value = reader.expression()
        aliases = (reader.any_name(),) if reader.take("AS") else ()
        items.append(Item(start, reader.at, value, aliases))
        if not reader.take(","):
            break
    reader.expect(")")
    return Row(first, reader.at, tuple(items))


def _extract(reader: Reader, first: int) -> Expression:
    if reader.word(1) != "FROM":
        return _plain(reader, first, "extract")
    field = reader.any_name()
    reader.expect("FROM")
    source = reader.expression()
    reader.expect(")")
    return SpecialSyntax(first, reader.at, "extract", (source,), field)


def _position(reader: Reader, first: int) -> Expression:
    needle = reader.value()
    if not reader.take("IN"):
        return _finish_call(reader, first, "position", [needle])
    hay = reader.value()
    reader.expect(")")
    return FunctionCall(first, reader.at, "position", (needle, hay))


def _substring(reader: Reader, first: int) -> Expression:
    args = [reader.expression()]
    if not reader.take("FROM"):
        return _finish_call(reader, first, "substring", args)
    args.append(reader.expression())
    if reader.take("FOR"):
        args.append(reader.expression())
    reader.expect(")")
    return FunctionCall(first, reader.at, "substring", tuple(args))


def _trim(reader: Reader, first: int) -> Expression:
    has_option = reader.take("BOTH") or reader.take("LEADING") or reader.take("TRAILING")
    operands = [] if reader.word() == "FROM" else [reader.expression()]
    if not reader.take("FROM"):
        if has_option:
            raise reader.syntax_error("FROM is expected here")
        return _finish_call(reader, first, "trim", operands)
    operands.append(reader.expression())
    reader.expect(")")
    return SpecialSyntax(first, reader.at, "trim", tuple(operands))


def _overlay(reader: Reader, first: int) -> Expression:
    args = [reader.expression()]
    if not reader.take("PLACING"):
        return _finish_call(reader, first, "overlay", args)
    args.append(reader.expression())
    reader.expect("FROM")
    args.append(reader.expression())
    if reader.take("FOR"):
        args.append(reader.expression())
    reader.expect(")")
    return FunctionCall(first, reader.at, "overlay", tuple(args))


def _time_arithmetic(reader: Reader, first: int) -> Expression:
    word = reader.sql.lexemes[first].word
    if reader.word() not in _TIME_UNITS or reader.sign(1) != ",":
        return _plain(reader, first, word.lower())
    reader.at += 2
    left = reader.expression()
    reader.expect(",")
    right = reader.expression()
    reader.expect(")")
    return SpecialSyntax(
        first, reader.at, "add to time" if word in _ADDING else "time difference", (left, right)
    )


_SPECIAL: dict[str, Callable[[Reader, int], Expression]] = {
    "CAST": _cast,
    "TRY_CAST": _cast,
    "STRUCT": _struct,
    "EXTRACT": _extract,
    "POSITION": _position,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "TRIM": _trim,
    "OVERLAY": _overlay,
    **dict.fromkeys(_ADDING | _SUBTRACTING, _time_arithmetic),
}
