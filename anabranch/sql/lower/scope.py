"""Which column a name stands for: Spark's rules, regardless of case.

A name is looked for among the relations of its own SELECT block; what isn't found there may belong to
the block around it, which makes the inner query a correlated one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.algebra.plan import Plan
from anabranch.errors import AmbiguousColumn
from anabranch.schema import Array, Map, Struct, Type
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import Domain
from anabranch.sql.lower.syntax.tree import Cte, Name, Node
from anabranch.sql.parse import format_snippet


@dataclass(frozen=True)
class Field:
    """A column of a relation: what the user calls it, and what the plan does."""

    name: str
    plan: str
    qualifier: tuple[str, ...] = ()
    """The relation, with its namespace in front where it has one; in lower case."""
    hidden: bool = False
    """Reachable by its qualifier only: the other side's column of USING."""

    def has_qualified_name(self, parts: tuple[str, ...]) -> bool:
        """Whether a qualified name in lower case stands for it."""
        *qualifier, name = parts
        depth = len(qualifier)
        return name == self.name.lower() and tuple(qualifier) == self.qualifier[-depth:]


@dataclass(frozen=True)
class Relation:
    """A plan whose columns have names for the user."""

    plan: Plan
    fields: tuple[Field, ...]
    carried: Mapping[str, str] | None = None
    """In a correlated query: which column here carries which column of the block around it."""
    one_row: bool = False
    """Whether it has exactly one row (per row of the block around it)."""


@dataclass(frozen=True)
class Environment:
    """What a query can refer to besides its own relations."""

    ctes: Mapping[str, CteDefinition] = field(default_factory=dict)
    outer: OuterBlock | None = None
    domain: Domain | None = None
    """Set where the query must carry the columns of the block around it that it reads."""


@dataclass
class CteDefinition:
    """A CTE, and what its own query can refer to."""

    cte: Cte
    environment: Environment
    relation: Relation | None = None
    """Its plan, shared by all uses; None if it reads columns of a block around it."""
    loop: RecursiveTable | None = None
    """If it reads itself, the table that stands for it."""


@dataclass(frozen=True)
class RecursiveTable:
    """A recursive CTE as a table: per column its name there, its name for the user, its type if known."""

    table: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    types: tuple[Type | None, ...]


class NeedsDomain(Exception):
    """A column of the block around was met where only a carried one can stand."""

    def __init__(self, token: object) -> None:
        super().__init__("this is caught where the subquery is lowered")
        self.token = token


@dataclass
class OuterBlock:
    """The block around, as a subquery sees it."""

    scope: Scope
    token: object
    """Which subquery this is."""
    used: dict[str, None]
    """The columns of the block around that were met, by their names in the plan."""
    carried: Mapping[str, str] | None = None
    free: bool = False
    """Whether such a column may stand for itself: in WHERE, whose conditions become the join's."""


@dataclass
class Scope:
    """The columns that the expressions of one SELECT block can name."""

    fields: tuple[Field, ...]
    outer: OuterBlock | None = None
    ungrouped: frozenset[str] = frozenset()
    """Columns, by their names in the plan, that grouping has left behind."""

    def find(self, context: Context, name: Name, inside: bool = False) -> tuple[Field, int] | None:
        """The column that a name stands for, and how many of its parts say so.

        With `inside` the name stands in a subquery below, not in this block itself.
        """
        found = self.find_own(context, name)
        if found is not None or self.outer is None:
            return found
        outer = self.outer
        beyond = outer.scope.find(context, name, inside=True)
        if beyond is None:
            return None
        field_, parts = beyond
        outer.used[field_.plan] = None
        if outer.carried is not None and field_.plan in outer.carried:
            return Field(field_.name, outer.carried[field_.plan], field_.qualifier), parts
        if outer.free and not inside:
            return beyond
        raise NeedsDomain(outer.token)

    def find_own(self, context: Context, name: Name, or_none: bool = False) -> tuple[Field, int] | None:
        """The same among this block's own relations; with `or_none`, nothing if it isn't grouped."""
        parts = tuple(part.lower() for part in name.parts)
        for depth in (3, 2):
            if len(parts) >= depth:
                found = [f for f in self.fields if f.has_qualified_name(parts[:depth])]
                if found:
                    self._refuse_two_readings(context, name)
                    return self._single_field(context, name, found), depth
        plain = [f for f in self.fields if not f.hidden and f.name.lower() == parts[0]]
        if not plain or (or_none and all(f.plan in self.ungrouped for f in plain)):
            return None
        if len(parts) > 1:
            self._refuse_two_readings(context, name)
        return self._single_field(context, name, plain), 1

    def _single_field(self, context: Context, name: Name, found: list[Field]) -> Field:
        if len({f.plan for f in found}) > 1:
            raise AmbiguousColumn(
                f"the column {format_snippet('.'.join(name.parts))} is ambiguous",
                detail=f"{context.place(name)}: it could be {_format_fields(found)}.",
                hint="write the relation in front of it: relation.column.",
            )
        if found[0].plan in self.ungrouped:
            raise context.invalid(
                name,
                f"the column {format_snippet('.'.join(name.parts))} is neither grouped nor aggregated",
                "add it to GROUP BY, or aggregate it.",
            )
        return found[0]

    def _refuse_two_readings(self, context: Context, name: Name) -> None:
        """`c.id` where both a relation and a column with fields are called c."""
        first = name.parts[0].lower()
        relation = any(first in f.qualifier[-1:] for f in self.fields)
        column = [f for f in self.fields if not f.hidden and f.name.lower() == first]
        if relation and any(_may_have_fields(context.types.get(f.plan)) for f in column):
            raise AmbiguousColumn(
                f"the name {format_snippet('.'.join(name.parts))} can be read in two ways",
                detail=f'{context.place(name)}: both a relation and a column are called "{first}".',
                hint="give the relation another alias.",
            )

    def format_names(self) -> list[str]:
        """What there is, for messages."""
        return [".".join((*f.qualifier[-1:], f.name)) for f in self.fields if not f.hidden]


def _may_have_fields(kind: Type | None) -> bool:
    return kind is None or isinstance(kind, Struct | Map | Array)


def _format_fields(found: Iterable[Field]) -> str:
    return " or ".join(".".join((*f.qualifier[-1:], f.name)) for f in found)


def requalify(fields: Iterable[Field], alias: str) -> tuple[Field, ...]:
    """The visible columns under another relation's name."""
    qualifier = (alias.lower(),)
    return tuple(Field(f.name, f.plan, qualifier) for f in fields if not f.hidden)


def check_arity(context: Context, node: Node, wanted: int, there: int) -> None:
    """As many names as columns."""
    if wanted != there:
        raise context.invalid(node, f"{wanted} names for {there} columns")
