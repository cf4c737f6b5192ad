"""What can be told of a query by its text alone, before any name in it means anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.sql.lower.syntax.tree import (
    Body,
    Cte,
    Name,
    Node,
    Query,
    Select,
    SetOperation,
    TableRef,
    children,
)

Named = tuple[str, ...]
"""A relation's name as it is written, in lower case: `("orders",)`, `("sales", "orders")`."""


def free_names(node: Node, bound: Iterable[str] = ()) -> frozenset[Named]:
    """The relations that a text names and that none of its own WITHs defines."""
    found: set[Named] = set()
    pending: list[tuple[Node, frozenset[str]]] = [(node, frozenset(bound))]
    while pending:
        current, known = pending.pop()
        if isinstance(current, TableRef):
            name = tuple(part.lower() for part in current.parts)
            if len(name) > 1 or name[0] not in known:
                found.add(name)
        elif isinstance(current, Query):
            for cte in current.ctes:
                after = known | {cte.name.lower()}
                # The body of a plain CTE sees what the name meant before; a recursive one sees itself.
                pending.append((cte.query, after if current.recursive else known))
                known = after
            pending.extend((below, known) for below in children(current) if not isinstance(below, Cte))
        else:
            pending.extend((below, known) for below in children(current))
    return frozenset(found)


def is_only_body(query: Query) -> bool:
    """Whether a query is nothing but its body: brackets around it say no more."""
    return not (query.ctes or query.order) and query.limit is None and query.offset is None


def body_as_query(body: Body) -> Query:
    """A body as a query of its own."""
    return Query(body.first, body.last, (), False, body, (), False, False, None, None)


def unwrap_query(query: Query) -> Query:
    """The query without brackets around it."""
    while isinstance(query.body, Query) and is_only_body(query):
        query = query.body
    return query


def unwrap_body(body: Body) -> Body:
    """The body without brackets around it."""
    while isinstance(body, Query) and is_only_body(body):
        body = body.body
    return body


def union_parts(body: Body, everything: bool) -> Iterator[Body]:
    """The parts of the UNION ALLs at the top of a body, in order; without `everything`, of UNIONs too."""
    pending = [body]
    while pending:
        current = unwrap_body(pending.pop())
        if isinstance(current, SetOperation) and current.op == "union" and (current.all or not everything):
            pending.extend(reversed(current.parts))
        else:
            yield current


def first_part(body: Body) -> Body:
    """The part of a result that names its columns."""
    while isinstance(body, Query | SetOperation):
        body = body.body if isinstance(body, Query) else body.parts[0]
    return body


def column_names(body: Body) -> tuple[str, ...] | None:
    """What the columns of a result are called, if the text says so for each."""
    first = first_part(body)
    if not isinstance(first, Select):
        return None
    found: list[str] = []
    for item in first.items:
        if item.aliases:
            found += item.aliases
        elif isinstance(item.value, Name):
            found.append(item.value.parts[-1])
        else:
            return None
    return tuple(found)
