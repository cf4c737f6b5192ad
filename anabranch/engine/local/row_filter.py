"""Conditions over Arrow columns, where comparing values as they are stored is what Spark does.

What isn't known to be exact is left out: a filter that lets more rows pass is allowed to, because whoever
reads them filters again.
"""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, Verbatim, refs

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DATE = re.compile(r"\s*DATE\s*'(\d{4})-(\d{2})-(\d{2})'\s*", re.IGNORECASE)
_INTERVAL = re.compile(r"\s*INTERVAL\s*'(\d{1,6})'\s+(YEAR|MONTH|DAY)\s*", re.IGNORECASE)
_DIGITS = 18
"""Numbers with more digits aren't computed with: Spark may round them."""

Columns = Mapping[str, Any]
"""Arrow arrays by name."""


class _NotExact(Exception):
    """Only Spark knows what a condition amounts to."""


def columns_of(conditions: Collection[Scalar]) -> list[str]:
    """The columns that conditions read, in order."""
    return sorted({name for condition in conditions for name in refs(condition)})


def rows_that_pass(conditions: Collection[Scalar], columns: Columns) -> np.ndarray | None:
    """Which rows meet all conditions that can be judged here, as a mask; None if that is none of them."""
    masks = []
    for condition in sorted(conditions, key=repr):
        try:
            masks.append(_judge(condition, columns))
        except (_NotExact, pa.ArrowException, ValueError, OverflowError):
            continue
    if not masks:
        return None
    passed: np.ndarray = pc.fill_null(reduce(pc.and_kleene, masks), False).to_numpy(zero_copy_only=False)
    return passed


def filter_rows(rows: pa.Table, conditions: Collection[Scalar]) -> pa.Table:
    """The rows that meet all conditions that can be judged here."""
    columns = {name: rows.column(name) for name in columns_of(conditions) if name in rows.column_names}
    passed = rows_that_pass(conditions, columns)
    return rows if passed is None else rows.filter(pa.array(passed))


def _judge(condition: Scalar, columns: Columns) -> Any:
    match condition:
        case Call("and", parts):
            return reduce(pc.and_kleene, [_judge(part, columns) for part in parts])
        case Call("or", parts):
            return reduce(pc.or_kleene, [_judge(part, columns) for part in parts])
        case Call("not", (part,)):
            return pc.invert(_judge(part, columns))
        case Call("is null", (Ref(name),)):
            return pc.is_null(_column(name, columns))
        case Call("in", (Ref(name), *values)):
            column = _column(name, columns)
            return reduce(pc.or_kleene, [pc.equal(column, _constant(value, column.type)) for value in values])
        case Call("like", (Ref(name), Literal(str(pattern)))):
            return _like(_column(name, columns), pattern)
        case Call(op, (Ref(name), Ref(other))) if op in _COMPARE:
            left, right = _column(name, columns), _column(other, columns)
            if left.type != right.type:
                raise _NotExact(condition)
            return _COMPARE[op](left, right)
        case Call(op, (Ref(name), value)) if op in _COMPARE:
            column = _column(name, columns)
            return _COMPARE[op](column, _constant(value, column.type))
        case Call(op, (value, Ref(name))) if op in _COMPARE:
            column = _column(name, columns)
            return _COMPARE[_TURNED.get(op, op)](column, _constant(value, column.type))
        case _:
            raise _NotExact(condition)


def _column(name: str, columns: Columns) -> Any:
    """A column of a type whose values Spark compares as Arrow does: not of floating point numbers."""
    column = columns.get(name)
    if column is None:
        raise _NotExact(name)
    kind = column.type
    if not (
        pa.types.is_signed_integer(kind)
        or pa.types.is_decimal128(kind)
        or pa.types.is_date32(kind)
        or _is_text(kind)
    ):
        raise _NotExact(name)
    return column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _like(column: Any, pattern: str) -> Any:
    """LIKE with `%` at the ends of a text alone."""
    text = pattern.strip("%")
    if not _is_text(column.type) or not text or set(text) & set("%_\\"):
        raise _NotExact(pattern)
    match pattern.startswith("%"), pattern.endswith("%"):
        case True, True:
            return pc.match_substring(column, text)
        case True, False:
            return pc.ends_with(column, text)
        case False, True:
            return pc.starts_with(column, text)
        case _:
            return pc.equal(column, text)


def _constant(scalar: Scalar, kind: pa.DataType) -> pa.Scalar:
    """A constant in a column's type, if that has exactly this value."""
    value = _evaluate(scalar)
    if _is_text(kind) and isinstance(value, str):
        return pa.scalar(value, kind)
    if pa.types.is_date32(kind) and isinstance(value, dt.date):
        return pa.scalar(value, kind)
    if isinstance(value, int | Decimal):
        if pa.types.is_signed_integer(kind) and value == int(value):
            return pa.scalar(int(value), kind)
        if pa.types.is_decimal128(kind):
            return pa.scalar(Decimal(value), kind)
    raise _NotExact(scalar)


def _evaluate(scalar: Scalar) -> Any:
    """The value of a constant: a number, a text, a date, or an interval as (months, days)."""
    match scalar:
        case Literal(bool()):
            raise _NotExact(scalar)
        case Literal(int() | Decimal() as number):
            if len(Decimal(number).as_tuple().digits) > _DIGITS:
                raise _NotExact(scalar)
            return number
        case Literal(str(text)):
            return text
        case Verbatim((str(text),)):
            return _typed_literal(text)
        case Call("+" | "-" as op, (one, other)):
            return _add(_evaluate(one), _evaluate(other), 1 if op == "+" else -1)
        case _:
            raise _NotExact(scalar)


def _typed_literal(text: str) -> dt.date | tuple[int, int]:
    if found := _DATE.fullmatch(text):
        return dt.date(int(found[1]), int(found[2]), int(found[3]))
    if found := _INTERVAL.fullmatch(text):
        count, unit = int(found[1]), found[2].upper()
        return (0, count) if unit == "DAY" else (count * (12 if unit == "YEAR" else 1), 0)
    raise _NotExact(text)


def _add(one: Any, other: Any, sign: int) -> Any:
    match one, other:
        case dt.date(), (int(months), int(days)):
            return _shift(one, sign * months) + dt.timedelta(sign * days)
        case int() | Decimal(), int() | Decimal():
            return one + sign * other
        case _:
            raise _NotExact(one)


def _shift(date: dt.date, months: int) -> dt.date:
    """The same day some months later, or the last of that month."""
    number = date.year * 12 + date.month - 1 + months
    year, month = divmod(number, 12)
    return date.replace(year=year, month=month + 1, day=min(date.day, monthrange(year, month + 1)[1]))
