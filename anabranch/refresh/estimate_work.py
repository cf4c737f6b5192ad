"""How much work a plan is, estimated from the sizes of what it reads, before anything is read.

Rows are estimated as optimisers of databases do without histograms: a condition lets a fixed part of the rows
pass, and a join by equal values has |L| · |R| / d rows, where d is the number of values that the side with
fewer has. Where nothing says how many values a column has, they are as many as its table has rows.

The numbers are rough on purpose. What they are wrong by for one query, its history corrects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Materialised,
    Negate,
    Plan,
    Project,
    Scan,
    StoredResult,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
    subplans,
)
from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, children, conjuncts
from anabranch.delta.look_ups import LookUp, as_look_up
from anabranch.delta.materialise import inlined_operator_count
from anabranch.delta.small_subplans import equalities

MOST = 1e15
"""No estimate says more rows than this: a product of many is cut off, and stays a number."""
EQUAL, ORDERED, LIKE, OTHER = 0.05, 0.33, 0.1, 0.5
"""The part of rows for which a condition holds: an equality, an order, a pattern, anything else."""
ELEMENTS = 4
"""Elements of a list, where each becomes a row."""


@dataclass(frozen=True)
class RelationSize:
    """The rows of a relation, the bytes of its files, and what is known of its columns."""

    rows: int
    size: int = 0
    columns: int = 1
    """How many there are: what reads some of them reads that part of the bytes."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """Columns that have no more than so many values."""


NOTHING = RelationSize(0)


@dataclass(frozen=True)
class InputSizes:
    """The sizes of what a statement may read."""

    tables: Mapping[str, RelationSize]
    changes: Mapping[str, RelationSize] = field(default_factory=dict)
    stored: RelationSize = NOTHING
    """What the stream table stores so far."""


@dataclass(frozen=True)
class Work:
    """Amounts of work of several kinds, each of which has its own price."""

    statements: float = 0.0
    """Statements that the engine runs."""
    operators: float = 0.0
    """Operators in these: they are analysed, optimised and planned."""
    written_results: float = 0.0
    """Results that the engine writes to files: what is few is collected, and written by this process."""
    scanned_rows: float = 0.0
    """Rows of tables that the engine reads from end to end."""
    scanned_bytes: float = 0.0
    """Bytes of their data files, as far as their columns are read."""
    joined_rows: float = 0.0
    """Rows that go into joins, and come out of them."""
    grouped_rows: float = 0.0
    """Rows that are grouped, compared as wholes, or ordered."""
    aggregated_values: float = 0.0
    """Values that are added up or compared for groups and windows: rows × calls."""
    matched_texts: float = 0.0
    """Texts that are compared with patterns."""
    interpreted_rows: float = 0.0
    """Rows that go through operators in this process, where no engine is asked."""
    looked_up_rows: float = 0.0
    """Rows found by key in files, and handed to the engine."""
    key_rows: float = 0.0
    """Keys, counted where they are read and where rows are looked up by them."""
    changed_rows: float = 0.0
    """Rows of changes that are read."""
    written_rows: float = 0.0
    """Rows that are written to the stored table."""
    located_rows: float = 0.0
    """Stored rows that are compared to find those to delete."""

    def __add__(self, other: Work) -> Work:
        """The amounts of both."""
        return Work(*(min(MOST, a + b) for a, b in zip(self.amounts(), other.amounts(), strict=True)))

    def scaled(self, times: float) -> Work:
        """So many times the amounts."""
        return Work(*(min(MOST, amount * times) for amount in self.amounts()))

    def amounts(self) -> tuple[float, ...]:
        """The amounts, in the order of the fields."""
        return tuple(getattr(self, each.name) for each in fields(self))


NO_WORK = Work()


@dataclass(frozen=True)
class Estimate:
    """The estimated result of a plan, and the work of computing it."""

    rows: float
    work: Work
    base: float
    """How many rows there would be without conditions: what a column has values of, if nothing is known."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Columns that have values among so many, all conditions aside."""

    def values_of(self, name: str) -> float:
        """Among how many values those of a column are."""
        return max(1.0, self.values.get(name, self.base))


def expected_distinct(rows: float, values: float) -> float:
    """How many of `values` values occur in rows that are drawn at random: d · (1 - e^(-n/d)) for n rows.

    >>> round(expected_distinct(10, 1_000_000)), round(expected_distinct(1_000_000, 10))
    (10, 10)
    """
    return 0.0 if rows <= 0 or values <= 0 else min(rows, values * -math.expm1(-rows / values))


class WorkEstimator:
    """Estimates the statements of one change, or of one query, in the order in which they run."""

    def __init__(self, sizes: InputSizes) -> None:
        self._sizes = sizes
        self._steps: dict[str, Estimate] = {}

    def estimate_statement(self, plan: Plan) -> Estimate:
        """A plan that the engine computes."""
        found = self._estimate(plan)
        operators = float(inlined_operator_count(plan))
        return replace(found, work=found.work + Work(statements=1, operators=operators))

    def estimate_look_up(self, plan: Plan) -> Estimate:
        """A step without a statement: rows that are looked up or chosen by keys, or the keys themselves."""
        found = self._estimate(plan)
        look_up = as_look_up(plan)
        if look_up is None:
            work = Work(key_rows=found.rows, changed_rows=self._changed_rows(plan))
            return replace(found, work=work)
        if not look_up.keys:
            # Columns are read and judged, rows are fetched that pass.
            work = Work(key_rows=self._estimate(look_up.scan).rows, looked_up_rows=found.rows)
            return replace(found, work=work)
        keys = sum(self._estimate(column.keys).rows for column in look_up.keys)
        fetched = self._fetched_rows(look_up)
        return replace(found, work=Work(key_rows=keys, looked_up_rows=fetched))

    def estimate_interpreted(self, plan: Plan, large: int, most: int) -> Estimate | None:
        """A plan that this process computes; None if any part of it has more than `most` rows.

        Tables with more than `large` rows aren't read: rows of them are looked up.
        """
        found = self._estimates(plan)
        rows = [
            each.rows
            for part, each in found.items()
            if not (isinstance(part, Scan | StoredResult) and each.rows > large)
        ]
        if max(rows, default=0.0) > most:
            return None
        return replace(found[plan], work=Work(interpreted_rows=min(MOST, sum(rows))))

    def add_step(self, name: str, found: Estimate) -> None:
        """Remember the rows of a step that later statements read."""
        self._steps[name] = replace(found, work=NO_WORK)

    def _fetched_rows(self, look_up: LookUp) -> float:
        """The rows that a look-up finds by its keys, before it judges conditions."""
        found = self._estimate(look_up.scan)
        part = 1.0
        for column in look_up.keys:
            keys = self._estimate(column.keys).rows
            part *= min(1.0, keys / found.values_of(column.name))
        return found.rows * part

    def _changed_rows(self, plan: Plan) -> float:
        return sum(self._estimate(part).rows for part in subplans(plan) if isinstance(part, Delta))

    def _estimate(self, plan: Plan) -> Estimate:
        return self._estimates(plan)[plan]

    def _estimates(self, plan: Plan) -> Mapping[Plan, Estimate]:
        """Of all subplans. Work is counted at every use: an engine that inlines them does it so often."""
        done: dict[Plan, Estimate] = {}
        for part in subplans(plan):
            done[part] = self._estimate_part(part, done)
        return done

    def _estimate_part(self, plan: Plan, done: Mapping[Plan, Estimate]) -> Estimate:
        if not plan.inputs:
            return self._estimate_leaf(plan)
        below = [done[part] for part in plan.inputs]
        first, work = below[0], sum((each.work for each in below), NO_WORK)
        match plan:
            case Filter(_, condition):
                patterns = Work(matched_texts=first.rows * _count_patterns(condition))
                rows = first.rows * selectivity(condition, first)
                return replace(first, rows=rows, work=work + patterns)
            case Project(_, items):
                values = {name: first.values_of(item.name) for name, item in items if isinstance(item, Ref)}
                return replace(first, values=values)
            case UnionAll(parts):
                return _union(parts, below, work)
            case Join():
                return _join(plan, first, below[1], work)
            case Aggregate(_, keys, calls) | Tally(_, keys, calls):
                work += Work(aggregated_values=min(MOST, first.rows * len(calls)))
                return _grouping([key for _, key in keys], plan.names, first, work)
            case Distinct():
                return _grouping([Ref(name) for name in plan.names], plan.names, first, work)
            case Generate():
                return replace(first, rows=min(MOST, first.rows * ELEMENTS))
            case Negate():
                return first
        return _as_many_rows(plan, first, work + Work(grouped_rows=sum(each.rows for each in below)))

    def _estimate_leaf(self, plan: Plan) -> Estimate:
        match plan:
            case Scan(table, columns):
                return _leaf(self._sizes.tables.get(table, NOTHING), columns, scanned=True)
            case StoredResult(columns):
                return _leaf(self._sizes.stored, columns, scanned=True)
            case Delta(table, columns):
                size = self._sizes.changes.get(table, NOTHING)
                whole = _leaf(self._sizes.tables.get(table, size), columns, scanned=False)
                base = max(whole.base, size.rows)
                return Estimate(size.rows, Work(changed_rows=size.rows), base, whole.values)
            case Materialised(name, columns):
                step = self._steps.get(name, Estimate(0.0, NO_WORK, 1.0))
                known = {here: step.values[own] for here, own in columns if own in step.values}
                return replace(step, values=known)
            case Values(_, rows):
                return Estimate(len(rows), NO_WORK, max(1, len(rows)))
        raise AssertionError(f"{type(plan).__name__} is no leaf")


def _as_many_rows(plan: Plan, below: Estimate, work: Work) -> Estimate:
    """Rows that are netted, ordered, or compared as wholes: as many at most."""
    match plan:
        case Top(_, _, limit) if limit is not None:
            return replace(below, rows=min(limit, below.rows), work=work)
        case Window(_, calls):
            values = Work(aggregated_values=min(MOST, below.rows * len(calls)))
            return replace(below, work=work + values)
        case _:
            return replace(below, work=work)


def _leaf(size: RelationSize, columns: Sequence[tuple[str, str]], *, scanned: bool) -> Estimate:
    part = min(1.0, len(columns) / max(1, size.columns))
    work = Work(scanned_rows=size.rows, scanned_bytes=size.size * part) if scanned else NO_WORK
    values = {
        here: float(min(size.distinct[own], max(1, size.rows)))
        for here, own in columns
        if own in size.distinct
    }
    return Estimate(size.rows, work, max(1.0, size.rows), values)


def _union(parts: Sequence[Plan], below: Sequence[Estimate], work: Work) -> Estimate:
    """By position, under the first one's names."""
    values: dict[str, float] = {}
    for place, name in enumerate(parts[0].names):
        known = [
            each.values[part.names[place]]
            for part, each in zip(parts, below, strict=True)
            if part.names[place] in each.values
        ]
        if len(known) == len(parts):
            values[name] = max(known)
    rows = min(MOST, sum(each.rows for each in below))
    return Estimate(rows, work, max(each.base for each in below), values)


def _join(plan: Join, left: Estimate, right: Estimate, work: Work) -> Estimate:
    pairs = [
        (left.values_of(one.name), right.values_of(two.name))
        for _, one, two in equalities(plan)
        if isinstance(one, Ref) and isinstance(two, Ref)
    ]
    others = len(equalities(plan)) - len(pairs)
    pairs += [(left.base, right.base)] * others
    common = min(math.prod(min(pair) for pair in pairs), left.base, right.base) if pairs else 1.0
    matches = min(MOST, left.rows * right.rows / max(1.0, common))
    values = {**right.values, **left.values}
    base = max(left.base, right.base)
    match plan.kind:
        case "inner":
            rows = matches
        case "left":
            rows = max(left.rows, matches)
        case "full":
            rows = max(left.rows, right.rows, matches)
        case _:
            part = _matching_part(plan, left, right)
            rows = left.rows * (part if plan.kind == "semi" else 1 - part)
            values, base = dict(left.values), left.base
    work += Work(joined_rows=min(MOST, left.rows + right.rows + rows))
    return Estimate(rows, work, base, values)


def _matching_part(plan: Join, left: Estimate, right: Estimate) -> float:
    """The part of the left rows that have a matching row."""
    part = 1.0
    for _, one, two in equalities(plan):
        if isinstance(one, Ref) and isinstance(two, Ref):
            known = min(left.values_of(one.name), right.values_of(two.name))
            part *= min(1.0, expected_distinct(right.rows, known) / max(1.0, known))
        else:
            part *= min(1.0, right.rows / max(1.0, left.base))
    return part


def _grouping(keys: Sequence[Scalar], names: Sequence[str], below: Estimate, work: Work) -> Estimate:
    """A row per group; the names of its keys come first."""
    work += Work(grouped_rows=below.rows)
    if not keys:
        return Estimate(1.0, work, 1.0)
    each = [below.values_of(key.name) if isinstance(key, Ref) else below.base for key in keys]
    combined = min(math.prod(each), below.base)
    values = {
        name: below.values[key.name]
        for name, key in zip(names, keys, strict=False)
        if isinstance(key, Ref) and key.name in below.values
    }
    return Estimate(expected_distinct(below.rows, combined), work, max(1.0, combined), values)


def selectivity(condition: Scalar, rows: Estimate) -> float:
    """The part of some rows for which a condition is expected to hold."""
    part = 1.0
    for each in conjuncts(condition):
        part *= _part_of(each, rows)
    return part


def _part_of(condition: Scalar, rows: Estimate) -> float:
    match condition:
        case Call("=" | "<=>" | "~=", (Ref(name), Literal())) | Call(
            "=" | "<=>" | "~=", (Literal(), Ref(name))
        ):
            return 1 / rows.values[name] if name in rows.values else EQUAL
        case Call("=" | "<=>" | "~="):
            return EQUAL
        case Call("<" | "<=" | ">" | ">="):
            return ORDERED
        case Call("like"):
            return LIKE
        case Call("in", (_, *choices)):
            return min(1.0, EQUAL * len(choices))
        case Call("not", (inner,)):
            return max(0.0, 1 - selectivity(inner, rows))
        case Call("<>"):
            return 1 - EQUAL
        case Call("or", parts):
            return min(1.0, sum(selectivity(part, rows) for part in parts))
        case _:
            return OTHER


def _count_patterns(condition: Scalar) -> int:
    """How many patterns a condition compares texts with."""
    own = isinstance(condition, Call) and condition.op == "like"
    return own + sum(_count_patterns(part) for part in children(condition))
