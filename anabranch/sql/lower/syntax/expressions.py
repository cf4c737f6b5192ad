"""Expressions, by the precedences of Spark's grammar.

    or < and < not < predicate < comparison < | < ^ < & < shift < + - || < * / % div < unary

A predicate (BETWEEN, IN, LIKE, IS) takes a whole comparison on its left: `a = b IS NULL` asks whether
the comparison is NULL.
"""

from __future__ import annotations

from typing import Literal as OneOf

from anabranch.sql.lower.syntax.primary import primary
from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import (
    Between,
    Binary,
    Exists,
    Expression,
    InList,
    InQuery,
    IsDistinct,
    IsTest,
    Like,
    Logical,
    Not,
    Number,
    Sort,
    Unary,
)

_BINDING = {"*": 8, "/": 8, "%": 8, "DIV": 8, "+": 7, "-": 7, "||": 7}
_BINDING |= {"<<": 6, ">>": 6, ">>>": 6, "&": 5, "^": 4, "|": 3}
_BINDING |= dict.fromkeys(["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"], 2)
_SPELLING = {"==": "=", "!=": "<>"}
_SHIFTS = ((">", ">", ">"), (">", ">"), ("<", "<"))


def expression(reader: Reader) -> Expression:
    """Any expression."""
    return _logical(reader, "or")


def value(reader: Reader, at_least: int = 0) -> Expression:
    """An expression without AND, OR, NOT and predicates, whose operators bind at least so tightly."""
    first = reader.at
    left = _unary(reader)
    while True:
        op, width = _operator(reader)
        binding = _BINDING.get(op, -1)
        if binding <= at_least:
            return left
        reader.at += width
        right = value(reader, binding)
        left = Binary(first, reader.at, _SPELLING.get(op, op.lower()), left, right)


def sort_items(reader: Reader) -> tuple[Sort, ...]:
    """`a, b DESC NULLS FIRST, …`; without a word NULLs come first, in descending order last."""
    found: list[Sort] = []
    while True:
        first = reader.at
        item = expression(reader)
        descending = reader.take("DESC")
        if not descending:
            reader.take("ASC")
        nulls_first = not descending
        if reader.take("NULLS"):
            nulls_first = reader.take("FIRST")
            if not nulls_first:
                reader.expect("LAST")
        found.append(Sort(first, reader.at, item, descending, nulls_first))
        if not reader.take(","):
            return tuple(found)


def _logical(reader: Reader, op: OneOf["and", "or"]) -> Expression:
    first = reader.at
    items = [_operand(reader, op)]
    while reader.take(op.upper()):
        items.append(_operand(reader, op))
    if len(items) == 1:
        return items[0]
    return Logical(first, reader.at, op, tuple(items))


def _operand(reader: Reader, op: OneOf["and", "or"]) -> Expression:
    return _logical(reader, "and") if op == "or" else _negation(reader)


def _negation(reader: Reader) -> Expression:
    first = reader.at
    if reader.take("NOT") or reader.take("!"):
        operand = _negation(reader)
        return Not(first, reader.at, operand)
    if reader.word() == "EXISTS" and reader.sign(1) == "(":
        reader.at += 1
        if reader.opens_query():
            reader.expect("(")
            query = reader.query()
            reader.expect(")")
            return Exists(first, reader.at, query)
        reader.at -= 1
    return _predicate(reader, first, value(reader))


def _predicate(reader: Reader, first: int, operand: Expression) -> Expression:
    if reader.take("IS"):
        return _is(reader, first, operand)
    mark = reader.at
    negated = reader.take("NOT") or reader.take("!")
    match reader.word():
        case "BETWEEN":
            reader.at += 1
            low = value(reader)
            reader.expect("AND")
            high = value(reader)
            return Between(first, reader.at, operand, low, high, negated)
        case "IN":
            reader.at += 1
            return _in(reader, first, operand, negated)
        case "LIKE" | "ILIKE" | "RLIKE" | "REGEXP":
            return _like(reader, first, operand, negated)
    reader.at = mark
    return operand


def _is(reader: Reader, first: int, operand: Expression) -> Expression:
    negated = reader.take("NOT") or reader.take("!")
    if reader.take("DISTINCT", "FROM"):
        right = value(reader)
        return IsDistinct(first, reader.at, operand, right, negated)
    kinds: tuple[OneOf["null", "true", "false", "unknown"], ...] = ("null", "true", "false", "unknown")
    for kind in kinds:
        if reader.take(kind.upper()):
            return IsTest(first, reader.at, operand, kind, negated)
    raise reader.syntax_error("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM is expected here")


def _in(reader: Reader, first: int, operand: Expression, negated: bool) -> Expression:
    if reader.opens_query():
        reader.expect("(")
        query = reader.query()
        reader.expect(")")
        return InQuery(first, reader.at, operand, query, negated)
    items = _expression_list(reader)
    return InList(first, reader.at, operand, items, negated)


def _like(reader: Reader, first: int, operand: Expression, negated: bool) -> Expression:
    word = reader.step().word
    kind: OneOf["like", "ilike", "rlike"] = (
        "like" if word == "LIKE" else "ilike" if word == "ILIKE" else "rlike"
    )
    if kind != "rlike" and reader.word() in ("ANY", "SOME", "ALL") and reader.sign(1) == "(":
        quantifier: OneOf["any", "all"] = "all" if reader.step().word == "ALL" else "any"
        patterns = _expression_list(reader)
        return Like(first, reader.at, kind, operand, patterns, quantifier, False, negated)
    pattern = value(reader)
    escaped = kind != "rlike" and reader.take("ESCAPE")
    if escaped:
        if not reader.is_string():
            raise reader.syntax_error("a string is expected here")
        reader.step()
    return Like(first, reader.at, kind, operand, (pattern,), None, escaped, negated)


def _expression_list(reader: Reader) -> tuple[Expression, ...]:
    reader.expect("(")
    items = reader.expressions()
    reader.expect(")")
    return items


def _operator(reader: Reader) -> tuple[str, int]:
    for signs in _SHIFTS:
        if reader.has_adjacent_signs(*signs):
            return "".join(signs), len(signs)
    return reader.sign() or reader.word(), 1


def _unary(reader: Reader) -> Expression:
    first = reader.at
    sign = reader.sign()
    if sign not in ("-", "+", "~"):
        return primary(reader)
    reader.at += 1
    operand = _unary(reader)
    if sign == "-" and isinstance(operand, Number) and reader.at == first + 2:
        return Number(first, reader.at, f"-{operand.text}")
    return Unary(first, reader.at, sign, operand)
