"""Queries: WITH, set operations and their precedence, ORDER BY, LIMIT, and one SELECT block."""

from __future__ import annotations

from typing import Literal as OneOf

from anabranch.sql.lexer import SqlText
from anabranch.sql.lower.syntax.expressions import expression, sort_items, value
from anabranch.sql.lower.syntax.grouping import grouping
from anabranch.sql.lower.syntax.reader import NOT_ALIASES, Grammar, Reader
from anabranch.sql.lower.syntax.relations import inline_rows, lateral_views, relations, table_alias
from anabranch.sql.lower.syntax.tree import (
    Body,
    Cte,
    Expression,
    InlineTable,
    Item,
    Query,
    Relation,
    Select,
    SetOperation,
    Sort,
)
from anabranch.sql.lower.syntax.windows import named_windows

SetWord = OneOf["union", "intersect", "except"]


def read_query(sql: SqlText) -> tuple[Query, frozenset[str]]:
    """The tree of a query, which is the whole text, and the parameters of its lambdas."""
    reader = Reader(sql, Grammar(query, expression, value, sort_items))
    found = query(reader)
    if not reader.is_at_end:
        raise reader.syntax_error("the end is expected here")
    return found, frozenset(reader.lambda_names)


def query(reader: Reader) -> Query:
    """A query with everything that belongs to it."""
    first = reader.at
    recursive, ctes = _ctes(reader)
    body = _union(reader)
    order: tuple[Sort, ...] = ()
    order_all = False
    if reader.take("ORDER", "BY"):
        order_all = reader.word() == "ALL" and reader.sign(1) != "."
        order = reader.sorts()
    physical = _skip_physical_clauses(reader)
    limit: Expression | None = None
    if reader.take("LIMIT") and not reader.take("ALL"):
        limit = reader.expression()
    offset = reader.expression() if reader.take("OFFSET") else None
    return Query(first, reader.at, ctes, recursive, body, order, order_all, physical, limit, offset)


def _skip_physical_clauses(reader: Reader) -> bool:
    found = False
    for word in ("CLUSTER", "DISTRIBUTE"):
        if reader.take(word, "BY"):
            reader.expressions()
            found = True
    if reader.take("SORT", "BY"):
        reader.sorts()
        found = True
    return found


def _ctes(reader: Reader) -> tuple[bool, tuple[Cte, ...]]:
    if not reader.take("WITH"):
        return False, ()
    recursive = reader.take("RECURSIVE")
    found: list[Cte] = []
    while True:
        first = reader.at
        name = reader.name()
        columns = reader.names() if reader.sign() == "(" and not reader.opens_query() else ()
        if reader.take("MAX", "RECURSION", "LEVEL"):
            reader.step()
        reader.take("AS")
        reader.expect("(")
        inner = query(reader)
        reader.expect(")")
        found.append(Cte(first, reader.at, name, columns, inner))
        if not reader.take(","):
            return recursive, tuple(found)


# -- set operations: INTERSECT binds tighter than UNION and EXCEPT --------------------------------


def _union(reader: Reader) -> Body:
    first = reader.at
    left = _intersect(reader)
    while (op := _set_word(reader)) in ("union", "except"):
        everything = _set_operator(reader)
        left = _combine(first, reader, op, everything, left, _intersect(reader))
    return left


def _intersect(reader: Reader) -> Body:
    first = reader.at
    left = _body(reader)
    while _set_word(reader) == "intersect":
        everything = _set_operator(reader)
        left = _combine(first, reader, "intersect", everything, left, _body(reader))
    return left


def _combine(
    first: int, reader: Reader, op: SetWord, everything: bool, left: Body, right: Body
) -> SetOperation:
    """A run of the same operation is one; `a EXCEPT b EXCEPT c` takes both from a."""
    if isinstance(left, SetOperation) and left.first == first and (left.op, left.all) == (op, everything):
        return SetOperation(first, reader.at, op, everything, (*left.parts, right))
    return SetOperation(first, reader.at, op, everything, (left, right))


def _set_word(reader: Reader) -> SetWord | None:
    words: dict[str, SetWord] = {"UNION": "union", "INTERSECT": "intersect"}
    words |= dict.fromkeys(("EXCEPT", "MINUS", "SETMINUS"), "except")
    return words.get(reader.word())


def _set_operator(reader: Reader) -> bool:
    reader.step()
    everything = reader.take("ALL")
    if not everything:
        reader.take("DISTINCT")
    return everything


def _body(reader: Reader) -> Body:
    first = reader.at
    match reader.word():
        case "SELECT":
            return _select(reader)
        case "FROM":
            return _from_first(reader)
        case "VALUES":
            reader.at += 1
            rows = inline_rows(reader)
            alias = table_alias(reader)
            return InlineTable(first, reader.at, rows, alias)
    if reader.take("("):
        inner = query(reader)
        reader.expect(")")
        return inner
    raise reader.syntax_error("a query is expected here")


# -- one block ------------------------------------------------------------------------------------


def _select(reader: Reader) -> Select:
    first = reader.at
    reader.expect("SELECT")
    distinct, items = _select_list(reader)
    source = relations(reader) if reader.take("FROM") else None
    return _clauses(reader, first, distinct, items, source)


def _from_first(reader: Reader) -> Select:
    """FROM … SELECT …, which Spark reads as SELECT … FROM …."""
    first = reader.at
    reader.expect("FROM")
    source = relations(reader)
    reader.expect("SELECT")
    distinct, items = _select_list(reader)
    return _clauses(reader, first, distinct, items, source)


def _clauses(
    reader: Reader, first: int, distinct: bool, items: tuple[Item, ...], source: Relation | None
) -> Select:
    views = lateral_views(reader)
    where = reader.expression() if reader.take("WHERE") else None
    grouped = grouping(reader)
    having = reader.expression() if reader.take("HAVING") else None
    windows = named_windows(reader)
    qualify = reader.expression() if reader.take("QUALIFY") else None
    windows = windows or named_windows(reader)
    return Select(first, reader.at, distinct, items, source, views, where, grouped, having, qualify, windows)


def _select_list(reader: Reader) -> tuple[bool, tuple[Item, ...]]:
    while reader.take("/*+"):
        while not reader.take("*/"):
            reader.step()
    distinct = reader.take("DISTINCT")
    if not distinct and reader.word() == "ALL" and reader.sign(1) not in (",", "."):
        reader.take("ALL")
    items = [_item(reader)]
    while reader.take(","):
        items.append(_item(reader))
    return distinct, tuple(items)


def _item(reader: Reader) -> Item:
    first = reader.at
    found = reader.expression()
    aliases: tuple[str, ...] = ()
    if reader.take("AS"):
        aliases = reader.names() if reader.sign() == "(" else (reader.any_name(),)
    elif reader.is_name(besides=NOT_ALIASES):
        aliases = (reader.step().name,)
    elif reader.sign() == "(":
        aliases = reader.names()
    return Item(first, reader.at, found, aliases)
