"""What an expression's text says.

Every node knows its lexemes, `first` to `last` (exclusive), so that its text and its place can be
shown or kept. Nodes are compared by identity: the same text twice is two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal as OneOf

if TYPE_CHECKING:
    from anabranch.sql.lower.syntax.tree import Query


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
class KeywordLiteral(Node):
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, eq=False)
class TypedLiteral(Node):
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
class SpecialSyntax(Node):
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
    | KeywordLiteral
    | TypedLiteral
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
    | SpecialSyntax
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


@dataclass(frozen=True, eq=False)
class Item(Node):
    """An item of a SELECT list, with its alias (or several, for a generator)."""

    value: Expression
    aliases: tuple[str, ...]
