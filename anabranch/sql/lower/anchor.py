"""The part of a query that can be understood before some of its tables are.

Stream tables that read each other in a circle have no schemas to begin with. What a circle begins with
is the anchor: the branches of a UNION that stay outside it. They tell a query's types before the tables
that the other branches read have any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.cursor import table_name
from anabranch.sql.lower.lower_text import LoweredQuery, limit_nesting, lower_parsed_query, parse_and_check
from anabranch.sql.lower.syntax.query_shape import column_names, first_part, free_names
from anabranch.sql.lower.syntax.tree import Body, Cte, Node, Query, SetOperation

Names = frozenset[str]


def lower_anchor(
    text: str, schemas: Mapping[TableName, Schema], unknown: frozenset[TableName]
) -> LoweredQuery | None:
    """The query without the branches of its UNION that read unknown tables; None if it reads them elsewhere.

    Its columns are called as those of the whole, as far as the text of the first branch names them.

    >>> from anabranch.sql.ddl import parse_schema
    >>> edges = {TableName.parse("edges"): parse_schema("a INT, b INT")}
    >>> text = "SELECT r.a AS x, e.b AS y FROM reach r, edges e UNION SELECT a, b FROM edges"
    >>> found = lower_anchor(text, edges, frozenset([TableName.parse("reach")]))
    >>> found.columns, [str(table) for table in found.tables]
    (('x', 'y'), ['edges'])
    """
    with limit_nesting():
        found = parse_and_check(text)
        query = _anchor_query(found.query, unknown, frozenset())
        if query is None:
            return None
        begins = first_part(query) is first_part(found.query)
        names = None if begins else column_names(found.query)
        return lower_parsed_query(replace(found, query=query), schemas, {}, names)


def _anchor_query(query: Query, unknown: frozenset[TableName], bound: Names) -> Query | None:
    """What is left of a query and whatever CTEs that needs. Its types don't depend on order and limit."""
    inside = bound.union(cte.name.lower() for cte in query.ctes)
    body = _anchor_body(query.body, unknown, inside)
    if body is None:
        return None
    needed = _needed_ctes(query.ctes, body)
    for cte in query.ctes:
        own = bound | {cte.name.lower()}
        if cte in needed and _reads(cte.query, unknown, own if query.recursive else bound):
            return None
        bound = own
    return replace(query, ctes=needed, body=body, order=(), order_all=False, limit=None, offset=None)


def _anchor_body(body: Body, unknown: frozenset[TableName], bound: Names) -> Body | None:
    match body:
        case Query():
            return _anchor_query(body, unknown, bound)
        case SetOperation(op="union"):
            parts = [_anchor_body(part, unknown, bound) for part in body.parts]
            left = tuple(part for part in parts if part is not None)
            return replace(body, parts=left) if left else None
    return None if _reads(body, unknown, bound) else body


def _needed_ctes(ctes: tuple[Cte, ...], body: Body) -> tuple[Cte, ...]:
    """The CTEs that a body reads, and those that they read."""
    names = free_names(body)
    found: list[Cte] = []
    for cte in reversed(ctes):
        if (cte.name.lower(),) in names:
            names |= free_names(cte.query)
            found.append(cte)
    return tuple(reversed(found))


def _reads(node: Node, unknown: frozenset[TableName], bound: Names) -> bool:
    return any(table_name(name) in unknown for name in free_names(node, bound))
