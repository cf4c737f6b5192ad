"""The reference: what a plan means, over rows in memory. Slow, and obviously right.

A Z-set is a dict from row to weight, zeros left out. Operators that aren't linear are only defined
on non-negative weights; meeting a negative one is a bug in a change rule and is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from anabranch.algebra.evaluate_scalar import compare, evaluate_scalar
from anabranch.algebra.plan import (
    Aggregate,
    Columns,
    Delta,
    Distinct,
    Filter,
    Generate,
    IntervalEnd,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    SortKey,
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.scalar import Scalar

Row = tuple[Any, ...]
ZSet = Mapping[Row, int]


class NegativeWeight(Exception):
    """A change reached an operator that is only defined on tables."""


@dataclass(frozen=True)
class Tables:
    """Contents at both ends of the interval: per table its columns and its rows."""

    columns: Mapping[str, tuple[str, ...]]
    since: Mapping[str, ZSet]
    until: Mapping[str, ZSet]
    stored_columns: tuple[str, ...] = ()
    stored: ZSet = field(default_factory=dict)
    cuts: Mapping[str, ZSet] = field(default_factory=dict)
    cut_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of materialised subplans of which only some are read; others are read as they are."""


def evaluate(plan: Plan, tables: Tables) -> ZSet:
    """The Z-set that a plan denotes."""
    return _Evaluation(tables).evaluate(plan)


def net(rows: Iterable[tuple[Row, int]]) -> dict[Row, int]:
    """Weights of equal rows added up, zeros left out."""
    total: Counter[Row] = Counter()
    for row, weight in rows:
        total[row] += weight
    return {row: weight for row, weight in total.items() if weight}


def plus(*parts: ZSet) -> dict[Row, int]:
    """The sum of Z-sets."""
    return net(item for part in parts for item in part.items())


def minus(left: ZSet, right: ZSet) -> dict[Row, int]:
    """The difference of Z-sets."""
    return plus(left, {row: -weight for row, weight in right.items()})


class _Evaluation:
    """One evaluation; equal subplans are computed once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._done: dict[Plan, ZSet] = {}

    def evaluate(self, plan: Plan) -> ZSet:
        found = self._done.get(plan)
        if found is None:
            found = self._done[plan] = self._compute(plan)
        return found

    def _compute(self, plan: Plan) -> ZSet:
        match plan:
            case Scan() | Delta() | StoredResult() | Materialised() | Values():
                return self._leaf(plan)
            case Filter() | Project() | UnionAll() | Negate() | Generate():
                return self._linear(plan)
            case Net():
                return self.evaluate(plan.input)
            case Rows():
                return self._check_non_negative(plan.input)
            case Support():
                return dict.fromkeys(self.evaluate(plan.input), 1)
            case Distinct():
                return dict.fromkeys(self._check_non_negative(plan.input), 1)
            case Join():
                return net(self._join_rows(plan))
            case Aggregate():
                self._check_non_negative(plan.input)
                return net(self._aggregate_groups(plan))
            case Tally():
                return net(self._aggregate_groups(plan))
            case SetOp():
                return self._set_operation(plan)
            case Window():
                return net(self._window_rows(plan))
            case Top():
                return net(self._top_rows(plan))

    def _leaf(self, plan: Scan | Delta | StoredResult | Materialised | Values) -> ZSet:
        known = self._tables
        match plan:
            case Scan(table, columns, at):
                side = known.since if at is IntervalEnd.SINCE else known.until
                return _select_columns(side[table], known.columns[table], columns)
            case Delta(table, columns):
                return _select_columns(
                    minus(known.until[table], known.since[table]), known.columns[table], columns
                )
            case StoredResult(columns):
                return _select_columns(known.stored, known.stored_columns, columns)
            case Materialised(name, columns):
                rows = known.cuts[name]
                return (
                    _select_columns(rows, known.cut_columns[name], columns)
                    if name in known.cut_columns
                    else rows
                )
            case Values():
                return net((tuple(evaluate_scalar(item, {}) for item in row), 1) for row in plan.rows)

    def _linear(self, plan: Filter | Project | UnionAll | Negate | Generate) -> ZSet:
        match plan:
            case UnionAll(parts):
                return plus(*(self.evaluate(part) for part in parts))
            case Negate(source):
                return {row: -weight for row, weight in self.evaluate(source).items()}
            case Filter(source, condition):
                bound = self._bind_columns(source)
                return net((row, w) for row, w, env in bound if evaluate_scalar(condition, env) is True)
            case Project(source, items):
                bound = self._bind_columns(source)
                return net((tuple(evaluate_scalar(s, env) for _, s in items), w) for _, w, env in bound)
            case Generate():
                return net(self._generate_rows(plan))

    # -- helpers ------------------------------------------------------------------------------

    def _bind_columns(self, plan: Plan) -> Iterator[tuple[Row, int, dict[str, Any]]]:
        names = plan.names
        for row, weight in self.evaluate(plan).items():
            yield row, weight, dict(zip(names, row, strict=True))

    def _check_non_negative(self, plan: Plan) -> ZSet:
        rows = self.evaluate(plan)
        if any(weight < 0 for weight in rows.values()):
            raise NegativeWeight(type(plan).__name__)
        return rows

    # -- operators ----------------------------------------------------------------------------

    def _generate_rows(self, plan: Generate) -> Iterator[tuple[Row, int]]:
        for row, weight, env in self._bind_columns(plan.input):
            elements = evaluate_scalar(plan.argument, env) or ()
            if not elements and plan.outer:
                yield row + (None,) * len(plan.columns), weight
            for element in elements:
                yield row + ((element,) if len(plan.columns) == 1 else tuple(element)), weight

    def _join_rows(self, plan: Join) -> Iterator[tuple[Row, int]]:
        right = list(self.evaluate(plan.right).items())
        if plan.kind != "inner":
            self._check_non_negative(plan.right)
        if plan.kind == "full":
            self._check_non_negative(plan.left)
        names = plan.left.names + plan.right.names
        matched: set[Row] = set()
        for left_row, left_weight in self.evaluate(plan.left).items():
            partners = [
                (row, weight)
                for row, weight in right
                if evaluate_scalar(plan.on, dict(zip(names, left_row + row, strict=True))) is True
            ]
            matched.update(row for row, _ in partners)
            if plan.kind in ("semi", "anti"):
                if bool(partners) == (plan.kind == "semi"):
                    yield left_row, left_weight
                continue
            for row, weight in partners:
                yield left_row + row, left_weight * weight
            if not partners and plan.kind in ("left", "full"):
                yield left_row + (None,) * len(plan.right.names), left_weight
        if plan.kind == "full":
            for row, weight in right:
                if row not in matched:
                    yield (None,) * len(plan.left.names) + row, weight

    def _aggregate_groups(self, plan: Aggregate | Tally) -> Iterator[tuple[Row, int]]:
        groups: dict[Row, list[tuple[dict[str, Any], int]]] = {}
        for _, weight, env in self._bind_columns(plan.input):
            key = tuple(evaluate_scalar(scalar, env) for _, scalar in plan.keys)
            groups.setdefault(key, []).append((env, weight))
        if not plan.keys and not groups:
            groups[()] = []
        for key, members in groups.items():
            results = []
            for _, call in plan.calls:
                chosen = [
                    (env, weight)
                    for env, weight in members
                    if call.where is None or evaluate_scalar(call.where, env) is True
                ]
                values = [
                    (tuple(evaluate_scalar(arg, env) for arg in call.args), weight) for env, weight in chosen
                ]
                results.append(aggregate(call.function, values, distinct=call.distinct))
            yield key + tuple(results), 1

    def _set_operation(self, plan: SetOp) -> ZSet:
        left, right = self._check_non_negative(plan.left), self._check_non_negative(plan.right)
        result: dict[Row, int] = {}
        for row, count in left.items():
            other = right.get(row, 0)
            if plan.kind == "intersect":
                kept = min(count, other)
            else:
                kept = max(count - other, 0) if plan.all else (0 if other else count)
            if kept:
                result[row] = kept if plan.all else 1
        return result

    def _window_rows(self, plan: Window) -> Iterator[tuple[Row, int]]:
        self._check_non_negative(plan.input)
        partition = plan.calls[0][1].partition
        groups: dict[Row, list[tuple[Row, dict[str, Any]]]] = {}
        for row, weight, env in self._bind_columns(plan.input):
            key = tuple(evaluate_scalar(scalar, env) for scalar in partition)
            groups.setdefault(key, []).extend([(row, env)] * weight)
        for members in groups.values():
            columns = []
            for _, call in plan.calls:
                order = sort_order(call.order)
                places = sorted(range(len(members)), key=lambda i: order(members[i][1]))
                columns.append(_window_values(call.function, call.args, places, members, order))
            for index, (row, _) in enumerate(members):
                yield row + tuple(column[index] for column in columns), 1

    def _top_rows(self, plan: Top) -> Iterator[tuple[Row, int]]:
        self._check_non_negative(plan.input)
        order = sort_order(plan.order)
        rows = [(row, env) for row, weight, env in self._bind_columns(plan.input) for _ in range(weight)]
        rows.sort(key=lambda item: order(item[1]))
        end = None if plan.limit is None else plan.offset + plan.limit
        for row, _ in rows[plan.offset : end]:
            yield row, 1


def _select_columns(rows: ZSet, names: tuple[str, ...], columns: Columns) -> dict[Row, int]:
    places = [names.index(name) for _, name in columns]
    return net((tuple(row[place] for place in places), weight) for row, weight in rows.items())


def aggregate(function: str, values: list[tuple[Row, int]], *, distinct: bool) -> Any:
    """An aggregate over weighted argument tuples; rows with a NULL argument don't count."""
    if function == "count" and values and not values[0][0]:
        return sum(weight for _, weight in values)
    present = [(args, weight) for args, weight in values if all(arg is not None for arg in args)]
    if distinct:
        present = [(args, 1) for args in dict(present)]
    match function:
        case "count":
            return sum(weight for _, weight in present)
        case "sum":
            return sum(args[0] * weight for args, weight in present) if present else None
        case "avg":
            total = sum(args[0] * weight for args, weight in present)
            return Fraction(total) / sum(weight for _, weight in present) if present else None
        case "min":
            return min((args[0] for args, _ in present), default=None)
        case "max":
            return max((args[0] for args, _ in present), default=None)
        case "single":
            if sum(weight for _, weight in values) > 1:
                raise ArithmeticError("a scalar subquery gave more than one row")
            return values[0][0][0] if values else None
        case "bool_and":
            return all(args[0] for args, _ in present) if present else None
        case "bool_or":
            return any(args[0] for args, _ in present) if present else None
    raise NotImplementedError(f"the reference has no aggregate {function}")


def sort_order(keys: tuple[SortKey, ...]) -> Callable[[dict[str, Any]], Any]:
    """A sort key for rows: NULLs where the order says, ties left as they are."""

    def order(left: dict[str, Any], right: dict[str, Any]) -> int:
        for key in keys:
            a, b = evaluate_scalar(key.scalar, left), evaluate_scalar(key.scalar, right)
            if a is None or b is None:
                if (a is None) != (b is None):
                    return -1 if (a is None) == key.nulls_first else 1
                continue
            if result := compare(a, b):
                return -result if key.descending else result
        return 0

    return cmp_to_key(order)


def _window_values(
    function: str,
    args: tuple[Scalar, ...],
    places: list[int],
    members: list[tuple[Row, dict[str, Any]]],
    order: Callable[[dict[str, Any]], Any],
) -> list[Any]:
    """One value per member, in the members' order."""
    values: list[Any] = [None] * len(members)
    if function in ("row_number", "rank", "dense_rank"):
        rank = dense = 0
        previous: Any = None
        for number, place in enumerate(places, start=1):
            current = order(members[place][1])
            if previous is None or previous < current:
                rank, dense = number, dense + 1
            previous = current
            values[place] = {"row_number": number, "rank": rank, "dense_rank": dense}[function]
        return values
    every = [(tuple(evaluate_scalar(arg, env) for arg in args), 1) for _, env in members]
    result = aggregate(function, every, distinct=False)
    return [result] * len(members)
