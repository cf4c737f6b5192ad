"""What a query's text says, before any name in it means anything.

Every node knows its lexemes, `first` to `last` (exclusive), so that its text and its place can be
shown or kept. Nodes are compared by identity: the same text twice is two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal as OneOf
from typing import TypeVar

N = TypeVar("N", bound="Node")


@dataclass(frozen=True, eq=False)
class Node:
    """A piece of the text."""

    first: int
    last: int


# -- expressions ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Name(Node):
    """A column, perhaps qualified, perhaps with struct fields behind it: `a`, `t.a`, `t.a.x`."""

    parts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Number(Node):
    """A number, with its sign."""

    text: str


@dataclass(frozen=True, eq=False)
class String(Node):
    """A string; `value` is None unless it was written without escapes."""

    value: str | None


@dataclass(frozen=True, eq=False)
class Word(Node):
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """A literal that stays text: DATE '…', INTERVAL …, X'1F'; `word` is its first word."""

    word: str
    value: str | None = None


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """`-x`, `+x`, `~x`."""

    op: str
    operand: Expression


@dataclass(frozen=True, eq=False)
class Binary(Node):
    """An arithmetic, bit or comparison operator."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False)
class Logical(Node):
    """AND or OR over two or more, flattened."""

    op: OneOf["and", "or"]
    items: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Not(Node):
    """NOT x."""

    operand: Expression


@dataclass(frozen=True, eq=False)
class Between(Node):
    """x [NOT] BETWEEN low AND high."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, eq=False)
class InList(Node):
    """x [NOT] IN (…)."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, eq=False)
class InQuery(Node):
    """x [NOT] IN (SELECT …), (x, y) [NOT] IN (SELECT …)."""

    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True, eq=False)
class Like(Node):
    """x [NOT] LIKE | ILIKE | RLIKE, with one pattern, or ANY or ALL of several."""

    kind: OneOf["like", "ilike", "rlike"]
    operand: Expression
    patterns: tuple[Expression, ...]
    quantifier: OneOf["any", "all"] | None
    escaped: bool
    negated: bool


@dataclass(frozen=True, eq=False)
class IsTest(Node):
    """x IS [NOT] NULL | TRUE | FALSE | UNKNOWN."""

    operand: Expression
    what: OneOf["null", "true", "false", "unknown"]
    negated: bool


@dataclass(frozen=True, eq=False)
class IsDistinct(Node):
    """x IS [NOT] DISTINCT FROM y."""

    left: Expression
    right: Expression
    negated: bool


@dataclass(frozen=True, eq=False)
class Exists(Node):
    """EXISTS (SELECT …)."""

    query: Query


@dataclass(frozen=True, eq=False)
class ScalarQuery(Node):
    """(SELECT …) as a value."""

    query: Query


@dataclass(frozen=True, eq=False)
class Case(Node):
    """CASE [x] WHEN … THEN … [ELSE …] END."""

    operand: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, eq=False)
class CastTo(Node):
    """CAST(x AS type), TRY_CAST(x AS type), x::type."""

    operand: Expression
    type: str
    quietly: bool


@dataclass(frozen=True, eq=False)
class Lambda(Node):
    """x -> …, (x, y) -> …"""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, eq=False)
class Row(Node):
    """(a, b AS c), and STRUCT(a, b AS c), which is the same."""

    items: tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class Text(Node):
    """Special syntax that stays as it was written around its operands."""

    kind: OneOf["collate", "subscript", "field", "extract", "trim", "add to time", "time difference"]
    operands: tuple[Expression, ...]
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Star(Node):
    """*, t.*, * EXCEPT (…)."""

    qualifier: tuple[str, ...]
    without: tuple[Name, ...]


@dataclass(frozen=True, eq=False)
class Argument(Node):
    """name => value."""

    name: str
    value: Expression


@dataclass(frozen=True, eq=False)
class FunctionCall(Node):
    """f(…) with everything that can stand behind it. `name` is in lower case."""

    name: str
    args: tuple[Expression, ...]
    distinct: bool = False
    within: tuple[Sort, ...] = ()
    where: Expression | None = None
    nulls: OneOf["ignore", "respect"] | None = None
    over: WindowSpec | str | None = None


Expression = (
    Name
    | Number
    | String
    | Word
    | Constant
    | Unary
    | Binary
    | Logical
    | Not
    | Between
    | InList
    | InQuery
    | Like
    | IsTest
    | IsDistinct
    | Exists
    | ScalarQuery
    | Case
    | CastTo
    | Lambda
    | Row
    | Text
    | Star
    | Argument
    | FunctionCall
)


@dataclass(frozen=True, eq=False)
class Sort(Node):
    """One item of ORDER BY."""

    value: Expression
    descending: bool
    nulls_first: bool


Bound = tuple[OneOf["unbounded preceding", "unbounded following", "current row", "offset"], str]


@dataclass(frozen=True, eq=False)
class Frame(Node):
    """ROWS or RANGE BETWEEN … AND …; `text` is how it was written."""

    unit: OneOf["rows", "range"]
    start: str
    end: str
    text: str


@dataclass(frozen=True, eq=False)
class WindowSpec(Node):
    """(PARTITION BY … ORDER BY … frame)."""

    partition: tuple[Expression, ...]
    order: tuple[Sort, ...]
    frame: Frame | None


# -- queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Item(Node):
    """An item of a SELECT list, with its alias (or several, for a generator)."""

    value: Expression
    aliases: tuple[str, ...]


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
class Derived(Node):
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
class Bracketed(Node):
    """(a JOIN b) AS name."""

    relation: Relation
    alias: Alias | None


JoinWord = OneOf["inner", "cross", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True, eq=False)
class Joined(Node):
    """Two relations; a comma is a cross join."""

    left: Relation
    right: Relation
    kind: JoinWord
    on: Expression | None = None
    using: tuple[str, ...] | None = None
    natural: bool = False


Relation = TableRef | Derived | TableFunction | Bracketed | Joined | InlineTable


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


def within_block(node: Node) -> Iterator[Node]:
    """The node and everything below it that belongs to the same SELECT block, top first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, Query):
            pending.extend(reversed(list(children(current))))


def everything(node: Node) -> Iterator[Node]:
    """The node and everything below it, subqueries and all, top first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))
