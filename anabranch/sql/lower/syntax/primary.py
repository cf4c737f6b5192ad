"""What binds tightest: literals, names, calls, CASE, casts, brackets, and what may stand behind them."""

from __future__ import annotations

from anabranch.sql.lower.syntax.calls import call
from anabranch.sql.lower.syntax.literals import literal
from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import (
    Case,
    CastTo,
    Expression,
    Item,
    Lambda,
    Name,
    Row,
    ScalarQuery,
    SpecialSyntax,
    Star,
)
from anabranch.sql.lower.syntax.type_names import type_text


def primary(reader: Reader) -> Expression:
    """A primary expression with its subscripts, fields, casts and collations."""
    first = reader.at
    found = _simple(reader)
    while True:
        if reader.sign() == "[":
            reader.at += 1
            index = reader.expression()
            reader.expect("]")
            found = SpecialSyntax(first, reader.at, "subscript", (found, index))
        elif reader.sign() == "." and not isinstance(found, Name | Star):
            reader.at += 1
            field = reader.any_name()
            found = SpecialSyntax(first, reader.at, "field", (found,), field)
        elif reader.take("::"):
            kind = type_text(reader)
            found = CastTo(first, reader.at, found, kind, False)
        elif reader.take("COLLATE"):
            reader.any_name()
            while reader.take("."):
                reader.any_name()
            found = SpecialSyntax(first, reader.at, "collate", (found,))
        else:
            return found


def _simple(reader: Reader) -> Expression:
    if (constant := literal(reader)) is not None:
        return constant
    first = reader.at
    sign = reader.sign()
    if sign == "*":
        reader.at += 1
        return _star(reader, first, ())
    if sign == "(":
        return _brackets(reader)
    if reader.word() == "CASE":
        return _case(reader)
    lexeme = reader.peek()
    if lexeme is not None and lexeme.is_name and reader.sign(1) == "(":
        return call(reader)
    return _name(reader)


def _name(reader: Reader) -> Expression:
    first = reader.at
    parts = [reader.name()]
    if reader.sign() == "->":
        reader.at += 1
        return _lambda(reader, first, tuple(parts))
    while reader.sign() == ".":
        reader.at += 1
        if reader.take("*"):
            return _star(reader, first, tuple(parts))
        if reader.sign(1) == "(":
            raise reader.unsupported_error(
                "a function is called by a qualified name", "write the function's own name."
            )
        parts.append(reader.any_name())
    return Name(first, reader.at, tuple(parts))


def _star(reader: Reader, first: int, qualifier: tuple[str, ...]) -> Expression:
    without: list[Name] = []
    if reader.word() == "EXCEPT" and reader.sign(1) == "(":
        mark = reader.at
        reader.at += 1
        if reader.opens_query():
            reader.at = mark
        else:
            reader.expect("(")
            while True:
                start = reader.at
                parts = [reader.any_name()]
                while reader.take("."):
                    parts.append(reader.any_name())
                without.append(Name(start, reader.at, tuple(parts)))
                if not reader.take(","):
                    break
            reader.expect(")")
    return Star(first, reader.at, qualifier, tuple(without))


def _lambda(reader: Reader, first: int, parameters: tuple[str, ...]) -> Expression:
    reader.lambda_names.update(name.lower() for name in parameters)
    body = reader.expression()
    return Lambda(first, reader.at, parameters, body)


def _brackets(reader: Reader) -> Expression:
    first = reader.at
    if reader.opens_query():
        reader.expect("(")
        query = reader.query()
        reader.expect(")")
        return ScalarQuery(first, reader.at, query)
    after = reader.closing_index() + 1 - reader.at
    if reader.sign(after) == "->":
        parameters = reader.names()
        reader.expect("->")
        return _lambda(reader, first, parameters)
    reader.expect("(")
    items = [item(reader)]
    while reader.take(","):
        items.append(item(reader))
    reader.expect(")")
    if len(items) == 1 and not items[0].aliases:
        return items[0].value
    return Row(first, reader.at, tuple(items))


def item(reader: Reader) -> Item:
    """`expression [AS name]`."""
    first = reader.at
    found = reader.expression()
    aliases: tuple[str, ...] = ()
    if reader.take("AS"):
        aliases = (reader.any_name(),)
    return Item(first, reader.at, found, aliases)


def _case(reader: Reader) -> Expression:
    first = reader.at
    reader.expect("CASE")
    operand = None if reader.word() == "WHEN" else reader.expression()
    whens: list[tuple[Expression, Expression]] = []
    while reader.take("WHEN"):
        condition = reader.expression()
        reader.expect("THEN")
        whens.append((condition, reader.expression()))
    if not whens:
        raise reader.syntax_error("WHEN is expected here")
    otherwise = reader.expression() if reader.take("ELSE") else None
    reader.expect("END")
    return Case(first, reader.at, operand, tuple(whens), otherwise)
