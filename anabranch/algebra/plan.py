"""What a query is: a tree of frozen nodes over tables at a version.

A plan denotes a Z-set: rows with integer weights. A table at a version has positive weights, a
change has any. Column names are unique within a plan, so two inputs of a join never share one; a
plan that breaks that can't be built. Two equal subplans are one thing, computed once.

    leaves       Scan  Delta  StoredResult  Materialised  Values
    linear       Filter  Project  UnionAll  Generate  Negate
    bilinear     Join inner
    the rest     Join left full semi anti  Aggregate  Distinct  SetOp  Window  Top
    of changes   Net (add up equal rows)  Support (which rows occur at all)  Rows (as often as their weight)
                 Tally (grouped by weight)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar, dataclass_transform
from typing import Literal as OneOf

from anabranch.algebra.scalar import Scalar, refs


class IntervalEnd(Enum):
    """The two ends of the interval that a refresh covers."""

    SINCE = 0
    UNTIL = 1


N = TypeVar("N")


@dataclass_transform(frozen_default=True)
def node(kind: type[N]) -> type[N]:
    """A frozen dataclass that compares and hashes as `Node` does."""
    return dataclass(frozen=True, eq=False)(kind)


@node
class Node:
    """What all plans share."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the result, in order."""
        return self._names()

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans directly below, in the order of the fields."""
        found: list[Plan] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Node):
                found.append(value)  # type: ignore[arg-type]
            elif isinstance(value, tuple):
                found.extend(item for item in value if isinstance(item, Node))  # type: ignore[misc]
        return tuple(found)

    def _names(self) -> tuple[str, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return _are_equal(self, other) if isinstance(other, Node) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: plans are often compared and used as keys."""
        return hash((type(self).__name__, *(getattr(self, field.name) for field in fields(self))))


def _are_equal(one: Node, other: Node) -> bool:
    """Whether two plans have the same structure, in time linear in the number of their distinct nodes.

    Subplans are shared, so a comparison that follows every path takes exponential time; and they nest
    deeper than Python recurses.
    """
    compared: set[tuple[int, int]] = set()
    pending: list[tuple[Any, Any]] = [(one, other)]
    while pending:
        left, right = pending.pop()
        if left is right:
            continue
        if isinstance(left, Node):
            if (id(left), id(right)) in compared:
                continue
            if type(left) is not type(right) or left._hash != right._hash:
                return False
            compared.add((id(left), id(right)))
            pending.extend((getattr(left, field.name), getattr(right, field.name)) for field in fields(left))
        elif isinstance(left, tuple) and isinstance(right, tuple):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


# -- leaves ---------------------------------------------------------------------------------------

Columns = tuple[tuple[str, str], ...]
"""(name in the plan, name in the table)."""


class RelationLeaf(Node):
    """What leaves over stored rows share: columns, under names of the plan's."""

    columns: Columns

    def __post_init__(self) -> None:
        _check_unique(self.names)

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@node
class Scan(RelationLeaf):
    """A table's rows at one end of the interval."""

    table: str
    columns: Columns
    at: IntervalEnd = IntervalEnd.UNTIL


@node
class Delta(RelationLeaf):
    """A table's change over the interval: until - since."""

    table: str
    columns: Columns


@node
class StoredResult(RelationLeaf):
    """The rows stored in the stream table itself, as of `since`."""

    columns: Columns


@node
class Materialised(RelationLeaf):
    """Rows that a statement before this one computed, because several parts of the plan need them."""

    name: str
    columns: Columns
    weighted: bool
    few: bool = True
    """Whether there are few of them; the engine may keep them in memory, and broadcast them."""


@node
class Values(Node):
    """Rows that stand in the query itself. Without rows: nothing, whatever the columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...] = ()

    def __post_init__(self) -> None:
        _check_unique(self.columns)
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values for {len(self.columns)} columns")

    def _names(self) -> tuple[str, ...]:
        return self.columns


# -- linear ---------------------------------------------------------------------------------------


@node
class Filter(Node):
    """The rows for which a condition is true."""

    input: Plan
    condition: Scalar

    def __post_init__(self) -> None:
        _check_refs(self.input, self.condition)

    def _names(self) -> tuple[str, ...]:
        return self.input.names


@node
class Project(Node):
    """New columns computed from each row."""

    input: Plan
    items: tuple[tuple[str, Scalar], ...]

    def __post_init__(self) -> None:
        _check_unique(self.names)
        for _, scalar in self.items:
            _check_refs(self.input, scalar)

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)


@node
class UnionAll(Node):
    """All rows of all inputs, by position, under the first one's names."""

    parts: tuple[Plan, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a union of nothing has no columns")
        if len({len(part.names) for part in self.parts}) != 1:
            raise ValueError("the parts of a union have different numbers of columns")

    def _names(self) -> tuple[str, ...]:
        return self.parts[0].names


@node
class Generate(Node):
    """Each row once per element of a list (or entry of a map) computed from it."""

    input: Plan
    function: str
    argument: Scalar
    columns: tuple[str, ...]
    outer: bool = False
    """Whether a row without elements stays, with NULLs."""

    def __post_init__(self) -> None:
        _check_refs(self.input, self.argument)
        _check_unique(self.names)

    def _names(self) -> tuple[str, ...]:
        return self.input.names + self.columns


@node
class Negate(Node):
    """All weights with the other sign."""

    input: Plan

    def _names(self) -> tuple[str, ...]:
        return self.input.names


# -- joins ----------------------------------------------------------------------------------------

JoinKind = OneOf["inner", "left", "full", "semi", "anti"]


@node
class Join(Node):
    """Pairs for which the condition is true; weights multiply.

    `left` keeps rows of the left without a matching row, with NULLs; `full` those of both sides.
    `semi` is the rows of the left that have a matching row, `anti` those that don't.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    on: Scalar

    def __post_init__(self) -> None:
        both = self.left.names + self.right.names
        _check_unique(both)
        if unknown := set(refs(self.on)) - set(both):
            raise ValueError(f"the join's condition reads {sorted(unknown)}, which neither side has")

    def _names(self) -> tuple[str, ...]:
        return self.left.names if self.kind in ("semi", "anti") else self.left.names + self.right.names


# -- grouping -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate over a group: `sum(x)`, `count(DISTINCT x) FILTER (WHERE …)`, …

    `count` without an argument counts rows.
    """

    function: str
    args: tuple[Scalar, ...] = ()
    distinct: bool = False
    where: Scalar | None = None

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Everything in it that is computed per row."""
        return self.args if self.where is None else (*self.args, self.where)


class Grouping(Node):
    """What grouping operators share: a row per group, its keys first."""

    input: Plan
    keys: tuple[tuple[str, Scalar], ...]
    calls: tuple[tuple[str, AggregateCall], ...]

    def __post_init__(self) -> None:
        _check_unique(self.names)
        for _, key in self.keys:
            _check_refs(self.input, key)
        for _, call in self.calls:
            for scalar in call.scalars:
                _check_refs(self.input, scalar)

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.keys) + tuple(name for name, _ in self.calls)


@node
class Aggregate(Grouping):
    """One row per group, NULL keys being one group; without keys one row, whatever the input."""

    input: Plan
    keys: tuple[tuple[str, Scalar], ...]
    calls: tuple[tuple[str, AggregateCall], ...]


@node
class Distinct(Node):
    """Every row once."""

    input: Plan

    def _names(self) -> tuple[str, ...]:
        return self.input.names


@node
class SetOp(Node):
    """INTERSECT or EXCEPT, by position; with `all`, as bags: the lower count, the difference."""

    left: Plan
    right: Plan
    kind: OneOf["intersect", "except"]
    all: bool = False

    def __post_init__(self) -> None:
        if len(self.left.names) != len(self.right.names):
            raise ValueError("the sides of a set operation have different numbers of columns")

    def _names(self) -> tuple[str, ...]:
        return self.left.names


# -- order ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SortKey:
    """One criterion of an order."""

    scalar: Scalar
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class WindowCall:
    """A function over the rows of a partition, in an order, within a frame (in Spark's words)."""

    function: str
    args: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...] = ()
    frame: str | None = None


@node
class Window(Node):
    """The input's rows with columns computed over their partitions. All calls share the partition."""

    input: Plan
    calls: tuple[tuple[str, WindowCall], ...]

    def __post_init__(self) -> None:
        _check_unique(self.names)
        if len({call.partition for _, call in self.calls}) != 1:
            raise ValueError("the calls of a window differ in their partition")
        for _, call in self.calls:
            for scalar in (*call.args, *call.partition, *(key.scalar for key in call.order)):
                _check_refs(self.input, scalar)

    def _names(self) -> tuple[str, ...]:
        return self.input.names + tuple(name for name, _ in self.calls)


@node
class Top(Node):
    """The first rows in an order, after skipping some."""

    input: Plan
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0

    def __post_init__(self) -> None:
        for key in self.order:
            _check_refs(self.input, key.scalar)

    def _names(self) -> tuple[str, ...]:
        return self.input.names


# -- of changes -----------------------------------------------------------------------------------


@node
class Net(Node):
    """Weights of equal rows added up; rows of weight zero are gone. The same Z-set, written short."""

    input: Plan

    def _names(self) -> tuple[str, ...]:
        return self.input.names


@node
class Support(Node):
    """Which rows occur in a change at all, each once, whatever its weight's sign."""

    input: Plan

    def _names(self) -> tuple[str, ...]:
        return self.input.names


@node
class Rows(Node):
    """The rows of a change that takes nothing away from nothing: each as often as its weight says."""

    input: Plan

    def _names(self) -> tuple[str, ...]:
        return self.input.names


@node
class Tally(Grouping):
    """What a change adds to the counts and sums of its groups: a row per group that it touches.

    Like `Aggregate`, but every row counts by its weight, which only linear calls can: `count`, `sum`,
    of one value each.
    """

    input: Plan
    keys: tuple[tuple[str, Scalar], ...]
    calls: tuple[tuple[str, AggregateCall], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for _, call in self.calls:
            if call.distinct or call.function not in LINEAR_CALLS:
                raise ValueError(f"{call.function} is not linear: a change doesn't say what becomes of it")
            if len(call.args) > 1:
                raise ValueError(f"a tally of {len(call.args)} values at once")


LINEAR_CALLS = frozenset(("count", "sum"))


Plan = (
    Scan
    | Delta
    | StoredResult
    | Materialised
    | Values
    | Filter
    | Project
    | UnionAll
    | Generate
    | Negate
    | Join
    | Aggregate
    | Distinct
    | SetOp
    | Window
    | Top
    | Net
    | Support
    | Rows
    | Tally
)


def walk(plan: Plan) -> Iterator[Plan]:
    """The plan and everything below it, top first; a subplan that stands twice comes twice."""
    pending: list[Plan] = [plan]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.inputs))


def subplans(plan: Plan) -> list[Plan]:
    """The plan and everything below it, inputs first; a subplan that stands twice comes once.

    Changes share so much that walking them takes forever.
    """
    found: dict[Plan, None] = {}
    pending = [(plan, False)]
    while pending:
        current, done = pending.pop()
        if done:
            found.setdefault(current)
        elif current not in found:
            pending.append((current, True))
            pending.extend((below, False) for below in reversed(current.inputs))
    return list(found)


def tables(plan: Plan) -> frozenset[str]:
    """The tables that a plan reads."""
    return frozenset(node.table for node in subplans(plan) if isinstance(node, Scan | Delta))


def empty(names: Iterable[str]) -> Values:
    """No rows."""
    return Values(tuple(names))


def is_empty(plan: Plan) -> bool:
    """Whether a plan says on its face that it has no rows."""
    return isinstance(plan, Values) and not plan.rows


def _check_unique(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"a column name stands twice: {twice}")


def _check_refs(plan: Plan, scalar: Scalar) -> None:
    if unknown := set(refs(scalar)) - set(plan.names):
        raise ValueError(f"unknown columns {sorted(unknown)}; there are {list(plan.names)}")
