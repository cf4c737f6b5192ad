"""What all parts of one lowering share: the tables it may read, the names given out, what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.algebra.scalar import Ref, Scalar
from anabranch.errors import InvalidQuery, NotIncremental, SqlTooLarge, UnknownColumnInQuery
from anabranch.names import TableName
from anabranch.schema import Schema, Type
from anabranch.sql.lexer import SqlText, place
from anabranch.sql.lower.names import Names
from anabranch.sql.lower.syntax.tree import Cte, Exists, Expression, InQuery, Node, Query, ScalarQuery
from anabranch.sql.parse import format_snippet

if TYPE_CHECKING:
    from anabranch.sql.lower.correlate import CorrelatedSubquery
    from anabranch.sql.lower.expressions import Expressions
    from anabranch.sql.lower.plan_builder import JoinTarget, PlanBuilder
    from anabranch.sql.lower.recursion import Recursion
    from anabranch.sql.lower.scope import CteDefinition, Environment, RecursiveTable, Relation, Scope

MAX_RELATIONS = 100
"""Tables, subqueries and functions in FROM, in all; each is one level of the plan."""

MAX_BLOCKS = 2_000
"""SELECT blocks that may be lowered; a correlated one may be lowered more than once."""


@dataclass(frozen=True)
class Rules:
    """The rules that others need: queries hold expressions, and expressions queries."""

    query: Callable[[Context, Query, Environment], Relation]
    subquery: Callable[[Expressions, Exists | InQuery | ScalarQuery, bool], Scalar]
    filter: Callable[[Expressions, PlanBuilder, Expression], bool]
    correlate: Callable[
        [Context, Query, Mapping[str, CteDefinition], Scope, JoinTarget, Node], CorrelatedSubquery
    ]
    view: Callable[[Context, TableName, Node], Relation]


@dataclass
class Tally:
    """What is counted: some of it must stay within limits."""

    relations: int = 0
    blocks: int = 0
    choices: int = 0
    loops: int = 0


@dataclass(frozen=True)
class Context:
    """One text that is being lowered. A view's text has a context of its own, which shares the rest."""

    sql: SqlText
    schemas: Mapping[TableName, Schema]
    views: Mapping[TableName, str]
    rules: Rules
    names: Names
    where: str = ""
    """Which view the text belongs to, for messages."""
    opened: tuple[TableName, ...] = ()
    """The views whose texts surround this one."""
    types: dict[str, Type] = field(default_factory=dict)
    """The types of the plan's columns, as far as they are known: those of tables, handed on."""
    notices: dict[str, None] = field(default_factory=dict)
    tables: set[TableName] = field(default_factory=set)
    shared: dict[TableName, Relation] = field(default_factory=dict)
    """Views that are lowered already."""
    recursions: list[Recursion] = field(default_factory=list)
    """What recursive CTEs hold, each behind those that it reads."""
    loops: dict[Cte, RecursiveTable] = field(default_factory=dict)
    """Recursive CTEs that are lowered already."""
    tally: Tally = field(default_factory=Tally)

    # -- columns ------------------------------------------------------------------------------

    def fresh_column(self, wanted: str, like: Scalar | None = None) -> str:
        """A fresh name for a column, of the type of another one if it is a plain copy of it."""
        name = self.names.fresh(wanted)
        if isinstance(like, Ref) and like.name in self.types:
            self.types[name] = self.types[like.name]
        return name

    def type_of(self, scalar: Scalar) -> Type | None:
        """The type of a column that was handed on from a table."""
        return self.types.get(scalar.name) if isinstance(scalar, Ref) else None

    # -- limits -------------------------------------------------------------------------------

    def count_relations(self, count: int) -> None:
        """So many more relations, in the query itself or in a view."""
        self.tally.relations += count
        if self.tally.relations > MAX_RELATIONS:
            raise SqlTooLarge(
                "the query reads too many relations",
                detail=f"{self.where}more than {MAX_RELATIONS} tables and subqueries.",
                hint="put a part of it into a stream table of its own.",
            )

    def count_block(self, node: Node) -> None:
        """One more SELECT block."""
        self.tally.blocks += 1
        if self.tally.blocks > MAX_BLOCKS:
            raise SqlTooLarge(
                "the query is too complex",
                detail=f"{self.place(node)}: more than {MAX_BLOCKS} SELECT blocks.",
                hint="put a part of it into a stream table of its own.",
            )

    # -- telling ------------------------------------------------------------------------------

    def add_notice(self, text: str) -> None:
        """Something the user should know; said once."""
        self.notices[text] = None

    def add_choice_notice(self, text: str) -> None:
        """A notice that the text leaves open which of several results it means."""
        self.add_notice(text)
        self.tally.choices += 1

    def text(self, node: Node) -> str:
        """What the user wrote there."""
        lexemes = self.sql.lexemes
        return self.sql.text[lexemes[node.first].start : lexemes[node.last - 1].end]

    def place(self, node: Node) -> str:
        """Where that is."""
        return self.where + place(self.sql.text, self.sql.lexemes[node.first].start)

    def invalid(self, node: Node, message: str, hint: str | None = None) -> InvalidQuery:
        """The error that a query means nothing."""
        return InvalidQuery(message, detail=f"{self._at(node)}.", hint=hint)

    def not_incremental(self, node: Node, message: str, why: str, hint: str) -> NotIncremental:
        """The error that a query means something, but not something that can be maintained."""
        return NotIncremental(
            message,
            detail=f"{self._at(node)}: {why}.",
            hint=f"{hint}, or create it with refresh_mode = full.",
        )

    def unknown_column(self, node: Node, name: str, candidates: list[str]) -> UnknownColumnInQuery:
        """The error that a column doesn't exist."""
        known = ", ".join(dict.fromkeys(candidates))
        known = known if len(known) <= 300 else known[:297] + "..."
        return UnknownColumnInQuery(
            f"there is no column {format_snippet(name)}",
            detail=f"{self._at(node)}.",
            hint=f"the columns here are {known}." if known else "nothing stands in FROM here.",
        )

    def _at(self, node: Node) -> str:
        return f"{self.place(node)}, in {format_snippet(self.text(node))}"
