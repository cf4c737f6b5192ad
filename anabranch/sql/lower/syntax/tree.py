"""What a query's text says, before any name in it means anything: queries, blocks and relations.

What expressions say is in `terms`; here both come together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal as OneOf

from anabranch.sql.lower.syntax.expression_nodes import (
    Argument,
    Between,
    Binary,
    Case,
    CastTo,
    Exists,
    Expression,
    Frame,
    FunctionCall,
    InList,
    InQuery,
    IsDistinct,
    IsTest,
    Item,
    KeywordLiteral,
    Lambda,
    Like,
    Logical,
    Name,
    Node,
    Not,
    Number,
    Row,
    ScalarQuery,
    Sort,
    SpecialSyntax,
    Star,
    String,
    TypedLiteral,
    Unary,
    WindowSpec,
)

__all__ = [
    "Alias",
    "Argument",
    "Between",
    "Binary",
    "Body",
    "BracketedTable",
    "Case",
    "CastTo",
    "Cte",
    "DerivedTable",
    "Exists",
    "Expression",
    "Frame",
    "FunctionCall",
    "Grouping",
    "GroupingSets",
    "InList",
    "InQuery",
    "InlineTable",
    "IsDistinct",
    "IsTest",
    "Item",
    "JoinWord",
    "JoinedTable",
    "KeywordLiteral",
    "Lambda",
    "LateralView",
    "Like",
    "Logical",
    "Name",
    "Node",
    "Not",
    "Number",
    "Query",
    "Relation",
    "Row",
    "ScalarQuery",
    "Select",
    "SetOperation",
    "Sort",
    "SpecialSyntax",
    "Star",
    "String",
    "TableFunction",
    "TableRef",
    "TypedLiteral",
    "Unary",
    "WindowSpec",
    "children",
    "walk_block",
    "walk_nodes",
]

# -- queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupingSets(Node):
    """ROLLUP, CUBE or GROUPING SETS over lists of expressions or, in the last case, each other."""

    kind: OneOf["rollup", "cube", "sets"]
    elements: tuple[GroupingSets | tuple[Expression, ...], ...]


@dataclass(frozen=True, eq=False)
class Grouping(Node):
    """GROUP BY …; `everything` is GROUP BY ALL."""

    elements: tuple[Expression | GroupingSets, ...]
    everything: bool = False


@dataclass(frozen=True, eq=False)
class Select(Node):
    """One SELECT block."""

    distinct: bool
    items: tuple[Item, ...]
    source: Relation | None
    views: tuple[LateralView, ...]
    where: Expression | None
    grouping: Grouping | None
    having: Expression | None
    qualify: Expression | None
    windows: tuple[tuple[str, WindowSpec | str], ...]


@dataclass(frozen=True, eq=False)
class SetOperation(Node):
    """UNION, INTERSECT or EXCEPT of several: those of one kind in a row are one operation."""

    op: OneOf["union", "intersect", "except"]
    all: bool
    parts: tuple[Body, ...]


@dataclass(frozen=True, eq=False)
class InlineTable(Node):
    """VALUES …, with an alias where it stands in FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    alias: Alias | None


@dataclass(frozen=True, eq=False)
class Cte(Node):
    """name (columns) AS (query)."""

    name: str
    columns: tuple[str, ...]
    query: Query


@dataclass(frozen=True, eq=False)
class Query(Node):
    """A query with what belongs to its whole: WITH, ORDER BY, LIMIT, OFFSET.

    `physical` says that it has SORT BY, DISTRIBUTE BY or CLUSTER BY, which order no result.
    """

    ctes: tuple[Cte, ...]
    recursive: bool
    body: Body
    order: tuple[Sort, ...]
    order_all: bool
    physical: bool
    limit: Expression | None
    offset: Expression | None


Body = Select | SetOperation | InlineTable | Query


# -- relations ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Alias(Node):
    """AS name (columns)."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableRef(Node):
    """A table, view or CTE by name."""

    parts: tuple[str, ...]
    alias: Alias | None


@dataclass(frozen=True, eq=False)
class DerivedTable(Node):
    """(SELECT …) AS name."""

    query: Query
    alias: Alias | None
    lateral: bool = False


@dataclass(frozen=True, eq=False)
class TableFunction(Node):
    """f(…) AS name."""

    name: str
    args: tuple[Expression, ...]
    alias: Alias | None
    lateral: bool = False


@dataclass(frozen=True, eq=False)
class BracketedTable(Node):
    """(a JOIN b) AS name."""

    relation: Relation
    alias: Alias | None


JoinWord = OneOf["inner", "cross", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True, eq=False)
class JoinedTable(Node):
    """Two relations; a comma is a cross join."""

    left: Relation
    right: Relation
    kind: JoinWord
    on: Expression | None = None
    using: tuple[str, ...] | None = None
    natural: bool = False


Relation = TableRef | DerivedTable | TableFunction | BracketedTable | JoinedTable | InlineTable


@dataclass(frozen=True, eq=False)
class LateralView(Node):
    """LATERAL VIEW [OUTER] f(…) name AS columns."""

    outer: bool
    function: str
    args: tuple[Expression, ...]
    name: str
    columns: tuple[str, ...]


# -- walks ----------------------------------------------------------------------------------------


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the text."""
    for field in fields(node):
        yield from _nodes(getattr(node, field.name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


def walk_block(node: Node) -> Iterator[Node]:
    """The node and everything below it that belongs to the same SELECT block, top first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, Query):
            pending.extend(reversed(list(children(current))))


def walk_nodes(node: Node) -> Iterator[Node]:
    """The node and everything below it, subqueries and all, top first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))
