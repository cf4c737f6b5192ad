"""Where the values of a column can come from, and which values a plan can ask of a column below it.

A *bound* of a column is a set of columns of small relations (changes, tables reduced already) that together
hold every value the column can have. It is found by following the column down: through projections that
pass it on, through unions to every part, through joins to the column that it is equated with.

A *demand* goes the other way: only rows whose column has a value within the bound matter to what is above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    Support,
    Tally,
    Top,
    UnionAll,
    Window,
    subplans,
)
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import Ref, Scalar, all_of, rename_refs
from anabranch.delta.filters_passed import filters_passed
from anabranch.delta.key_sets import SourceColumn
from anabranch.delta.row_conditions import plain_conditions
from anabranch.delta.small_subplans import equalities

VALUE = "__v_"
SAME = ("=", "<=>")
"""Equalities that compare values as they are: what equals the same is equal."""

Demand = Mapping[str, "Bound"]
"""For some columns of a plan, the values that matter."""


@dataclass(frozen=True)
class Bound:
    """Columns that together hold all values that matter."""

    columns: frozenset[SourceColumn]
    null_safe: bool = False
    """Whether NULL is a value like others here; else rows with NULL never matter."""

    def __or__(self, other: Bound) -> Bound:
        """The values of either."""
        return Bound(self.columns | other.columns, self.null_safe or other.null_safe)

    @property
    def is_of_tables_alone(self) -> bool:
        """Whether filters on tables have left all of these values, and no change has a part in it."""
        return all(filters_passed(source) and not come_from_changes(source) for source, _ in self.columns)

    @property
    def comes_from_changes(self) -> bool:
        """Whether all of these values come from changed rows: tables alone tell nothing of how many."""
        return all(come_from_changes(source) for source, _ in self.columns)

    @property
    def cost(self) -> tuple[int, int, int, bool]:
        """What is better to be bounded by: some rows before all, changes before tables, few columns."""
        whole = [source for source, _ in self.columns if not filters_passed(source)]
        tables = sum(not isinstance(source, Delta) for source in whole)
        return tables, len(whole), len(self.columns), self.null_safe


def come_from_changes(rows: Plan) -> bool:
    """Whether rows were found by what changed."""
    return any(isinstance(part, Delta) for part in subplans(rows))


class KeyBounds:
    """The bounds of columns; each is computed once."""

    def __init__(self, plan: Plan, small: frozenset[Plan] = frozenset()) -> None:
        self._small = small
        self._read = columns_read(plan)
        self._known: dict[tuple[Plan, str], frozenset[SourceColumn] | None] = {}

    def __call__(self, plan: Plan, name: str) -> frozenset[SourceColumn] | None:
        """The columns that hold every value of a column, NULL included; None if no such columns are known."""
        key = (plan, name)
        if key not in self._known:
            self._known[key] = self._find(plan, name)
        return self._known[key]

    def _find(self, plan: Plan, name: str) -> frozenset[SourceColumn] | None:
        if plan in self._small:
            return frozenset({(plan, name)})
        match plan:
            case Delta(table, columns):
                return frozenset({(self._whole_change(table), VALUE + dict(columns)[name])})
            case Filter(Delta(table, columns), condition):
                rows = self._changed_rows(table, columns, condition)
                return frozenset({(rows, VALUE + dict(columns)[name])})
            case (
                Filter(source)
                | Net(source)
                | Support(source)
                | Distinct(source)
                | Rows(source)
                | Negate(source)
            ):
                return self(source, name)
            case Top(source) | SetOp(source):
                return self(source, name)
            case Project(source, items):
                scalar = dict(items)[name]
                return self(source, scalar.name) if isinstance(scalar, Ref) else None
            case Aggregate(source, keys) | Tally(source, keys):
                key = dict(keys).get(name)
                return self(source, key.name) if isinstance(key, Ref) else None
            case Window(source) | Generate(source) if name in source.names:
                return self(source, name)
            case UnionAll(parts):
                return self._find_in_union(parts, plan.names.index(name))
            case Join():
                return self._find_in_join(plan, name)
            case _:
                return None

    def _whole_change(self, table: str) -> Delta:
        """A table's change in all columns that are read: in fewer, an update's key may cancel."""
        return Delta(table, tuple((VALUE + column, column) for column in self._read[table]))

    def _changed_rows(self, table: str, columns: tuple[tuple[str, str], ...], condition: Scalar) -> Plan:
        """The rows of a table's change that meet what can be told of a condition without an engine."""
        names = {name: VALUE + column for name, column in columns}
        conditions = sorted(plain_conditions(condition), key=scalar_text)
        whole = self._whole_change(table)
        return Filter(whole, rename_refs(all_of(conditions), names)) if conditions else whole

    def _find_in_union(self, parts: tuple[Plan, ...], place: int) -> frozenset[SourceColumn] | None:
        found: frozenset[SourceColumn] = frozenset()
        for part in parts:
            one = self(part, part.names[place])
            if one is None:
                return None
            found |= one
        return found

    def _find_in_join(self, join: Join, name: str) -> frozenset[SourceColumn] | None:
        if join.kind == "full" or (join.kind == "left" and name in join.right.names):
            # Rows without a matching row have NULLs there.
            return None
        side = join.left if name in join.left.names else join.right
        options = [self(side, name)]
        if join.kind in ("inner", "semi"):
            options += [
                self(join.right, there.name) if side is join.left else self(join.left, here.name)
                for here, there, _ in equal_columns(join)
                if name in (here.name, there.name)
            ]
        known = [Bound(option) for option in options if option is not None]
        return min(known, key=lambda bound: bound.cost).columns if known else None


def columns_read(plan: Plan) -> dict[str, list[str]]:
    """The columns that anything in a plan reads of each table."""
    read: dict[str, set[str]] = {}
    for leaf in subplans(plan):
        if isinstance(leaf, Scan | Delta):
            read.setdefault(leaf.table, set()).update(column for _, column in leaf.columns)
    return {table: sorted(columns) for table, columns in read.items()}


def equal_columns(join: Join) -> Iterator[tuple[Ref, Ref, bool]]:
    """The columns that a join equates, the left one first, and whether NULL equals NULL."""
    for op, here, there in equalities(join):
        if op in SAME and isinstance(here, Ref) and isinstance(there, Ref):
            yield here, there, op == "<=>"


def demands(plan: Plan, bounds: KeyBounds, ends: Collection[Plan] = ()) -> Mapping[Plan, Demand]:
    """For every subplan, the columns of which only some values matter to everything that reads it.

    `ends`: subplans below which nothing is asked.
    """
    asked: dict[Plan, Demand] = {plan: {}}
    for part in reversed(subplans(plan)):
        if part not in asked or part in ends:
            continue
        for below, demand in _demands_of_inputs(part, asked[part], bounds):
            known = asked.get(below)
            asked[below] = demand if known is None else _either(known, demand)
    return asked


def _either(one: Demand, other: Demand) -> Demand:
    """What matters to one reader or the other."""
    return {name: one[name] | other[name] for name in one if name in other}


def _both(one: Demand, other: Demand) -> Demand:
    """What matters to a reader who asks for both: either is enough, the better one is taken."""
    found = dict(one)
    for name, bound in other.items():
        if name not in found or bound.cost < found[name].cost:
            found[name] = bound
    return found


def _demands_of_inputs(plan: Plan, demand: Demand, bounds: KeyBounds) -> Iterator[tuple[Plan, Demand]]:
    match plan:
        case Filter(source) | Net(source) | Support(source) | Distinct(source) | Negate(source):
            yield source, demand
        case Rows(source):
            # What is taken away below is taken away from all of it, not from what matters alone.
            yield source, {}
        case Project(source, items):
            yield (
                source,
                _renamed(demand, {name: scalar.name for name, scalar in items if isinstance(scalar, Ref)}),
            )
        case Aggregate(source, keys) | Tally(source, keys):
            yield source, _renamed(demand, {name: key.name for name, key in keys if isinstance(key, Ref)})
        case Window(source, calls):
            partition = {key.name: key.name for key in calls[0][1].partition if isinstance(key, Ref)}
            yield source, _renamed(demand, partition)
        case Generate(source):
            yield source, _renamed(demand, {name: name for name in source.names})
        case UnionAll() | SetOp():
            for part in plan.inputs:
                yield part, _renamed(demand, dict(zip(plan.names, part.names, strict=True)))
        case Join():
            yield from _demands_of_sides(plan, demand, bounds)
        case _:
            for part in plan.inputs:
                yield part, {}


def _renamed(demand: Demand, names: Mapping[str, str]) -> Demand:
    """A demand on columns further up, as one on the columns they are."""
    found: Demand = {}
    for name, bound in demand.items():
        if name in names:
            found = _both(found, {names[name]: bound})
    return found


def _demands_of_sides(join: Join, demand: Demand, bounds: KeyBounds) -> Iterator[tuple[Plan, Demand]]:
    if join.kind == "full":
        yield join.left, {}
        yield join.right, {}
        return
    left: Demand = {name: bound for name, bound in demand.items() if name in join.left.names}
    right: Demand = {}
    if join.kind == "inner":
        right = {name: bound for name, bound in demand.items() if name in join.right.names}
    for here, there, null_safe in equal_columns(join):
        # A row of the right matters only to rows of the left that equal it there.
        right = _both(right, _values(bounds(join.left, here.name), there.name, null_safe))
        right = _both(right, _passed_on(left, here.name, there.name, null_safe))
        if join.kind in ("inner", "semi"):
            left = _both(left, _values(bounds(join.right, there.name), here.name, null_safe))
    if join.kind == "inner":
        for here, there, null_safe in equal_columns(join):
            left = _both(left, _passed_on(right, there.name, here.name, null_safe))
    yield join.left, left
    yield join.right, right


def _values(columns: frozenset[SourceColumn] | None, name: str, null_safe: bool) -> Demand:
    return {} if columns is None else {name: Bound(columns, null_safe)}


def _passed_on(demand: Demand, name: str, other: str, null_safe: bool) -> Demand:
    """What matters of a column, as what matters of one that it is equated with."""
    if name not in demand:
        return {}
    return {other: Bound(demand[name].columns, null_safe and demand[name].null_safe)}
