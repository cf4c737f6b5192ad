"""Groups, orders and partitions of rows in memory."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import total_ordering
from typing import Any

from anabranch.algebra.plan import Aggregate, AggregateCall, SortKey, Tally, Top, Window, WindowCall
from anabranch.engine.local import kinds
from anabranch.engine.local.held import Held, Weighed
from anabranch.engine.local.kinds import BIGINT, BOOLEAN, VOID, Elsewhere, Kind
from anabranch.engine.local.scalars import Columns, Compiled, Constants, Of, Row, divider, order_of, tuples
from anabranch.schema import MAX_DECIMAL_PRECISION, Decimal

Values = list[tuple[Any, int]]
"""Arguments with their weights."""
REPEATED = 200_000
"""How many rows are written out at most, each as often as it counts."""


def aggregated(plan: Aggregate, held: Held, constants: Constants) -> Held:
    """A row per group."""
    weighed = held.weighed() if held.weights is None else held.counted().items()
    return _grouped(plan, held, weighed, constants, _aggregate)


def tallied(plan: Tally, held: Held, constants: Constants) -> Held:
    """A row per group, every row counting by its weight."""
    return _grouped(plan, held, held.weighed(), constants, _linear)


Build = Callable[[AggregateCall, list[Compiled]], tuple[Kind, Callable[[Values], Any]]]


def _grouped(
    plan: Aggregate | Tally, held: Held, weighed: Weighed, constants: Constants, build: Build
) -> Held:
    columns = held.columns(constants)
    keys = [columns.compiled(scalar) for _, scalar in plan.keys]
    calls = [_Call(call, columns, build) for _, call in plan.calls]
    groups: dict[Row, list[tuple[Row, int]]] = {}
    members = list(weighed)
    of_rows = tuples([key.of for key in keys], [row for row, _ in members])
    for group, member in zip(of_rows, members, strict=True):
        groups.setdefault(group, []).append(member)
    if not plan.keys and not groups:
        groups[()] = []
    rows = [key + tuple([call.of(members) for call in calls]) for key, members in groups.items()]
    found = (*(key.kind for key in keys), *(call.kind for call in calls))
    return Held(plan.names, found, rows)


class _Call:
    """One aggregate, ready for the rows of a group."""

    def __init__(self, call: AggregateCall, columns: Columns, build: Build) -> None:
        args = [columns.compiled(arg) for arg in call.args]
        if call.function == "avg" and not columns.constants.divides_decimals:
            raise Elsewhere("an average of decimals is a double there")
        self.kind, self._result = build(call, args)
        self._where = None if call.where is None else columns.condition(call.where)
        self._argument = args[0].of if len(args) == 1 else _together([arg.of for arg in args])

    def of(self, members: Sequence[tuple[Row, int]]) -> Any:
        if self._where is not None:
            members = [member for member in members if self._where(member[0]) is True]
        argument = self._argument
        return self._result([(argument(row), weight) for row, weight in members])


def _together(args: Sequence[Of]) -> Of:
    """Several values as one; NULL if any of them is."""

    def values(row: Row) -> Any:
        found = tuple([arg(row) for arg in args])
        return None if None in found else found

    return values


def _linear(call: AggregateCall, args: list[Compiled]) -> tuple[Kind, Callable[[Values], Any]]:
    if call.function == "count":
        return BIGINT, _count
    return _sum(args[0].kind)


def _aggregate(call: AggregateCall, args: list[Compiled]) -> tuple[Kind, Callable[[Values], Any]]:
    kind, result = _plain(call, args)
    if not call.distinct:
        return kind, result
    return kind, lambda values: result([(value, 1) for value in dict(values)])


def _plain(call: AggregateCall, args: list[Compiled]) -> tuple[Kind, Callable[[Values], Any]]:
    given = args[0].kind if args else VOID
    match call.function:
        case "count":
            return BIGINT, _count
        case "sum":
            return _sum(given)
        case "avg":
            return _average(given)
        case "min" | "max" if not kinds.is_float(given):
            best = min if call.function == "min" else max
            return given, lambda values: best((v for v, _ in values if v is not None), default=None)
        case "bool_and" | "bool_or" if given in (BOOLEAN, VOID):
            joined = all if call.function == "bool_and" else any
            return BOOLEAN, lambda values: _present(values, lambda found: joined(v for v, _ in found))
        case "single":
            return given, _single
    raise Elsewhere(f"the aggregate {call.function}")


def _count(values: Values) -> int:
    return sum(weight for value, weight in values if value is not None)


def _present(values: Values, result: Callable[[Values], Any]) -> Any:
    found = [(value, weight) for value, weight in values if value is not None]
    return result(found) if found else None


def _total(values: Values) -> int:
    return sum(value * weight for value, weight in values)


def _sum(given: Kind) -> tuple[Kind, Callable[[Values], Any]]:
    kind = kinds.total_of(given)
    low, high = kinds.limit(kind) if kinds.is_exact(kind) else (0, 0)  # no type: no values

    def total(values: Values) -> int:
        result = _total(values)
        if not low <= result <= high:
            raise Elsewhere("a sum doesn't fit")
        return result

    return kind, lambda values: _present(values, total)


def _average(given: Kind) -> tuple[Kind, Callable[[Values], Any]]:
    if not isinstance(given, Decimal):
        raise Elsewhere("floating point")
    most = MAX_DECIMAL_PRECISION
    kind = Decimal(min(given.precision + 4, most), min(given.scale + 4, most))
    divide = divider(given.scale, 0, kind.scale)
    _, total = _sum(given)
    low, high = kinds.limit(kind)

    def average(values: Values) -> int:
        result = divide(total(values), _count(values))
        if not low <= result <= high:
            raise Elsewhere("an average doesn't fit")
        return result

    return kind, lambda values: _present(values, average)


def _single(values: Values) -> Any:
    if sum(weight for _, weight in values) > 1:
        raise Elsewhere("more than one row")
    return values[0][0] if values else None


# -- orders ---------------------------------------------------------------------------------------


def first_rows(plan: Top, held: Held, constants: Constants) -> Held:
    """The first rows in an order."""
    order = _order(plan.order, held.columns(constants))
    rows = repeated(held)
    if plan.limit is None:
        chosen = sorted(rows, key=order)
    else:
        chosen = heapq.nsmallest(plan.offset + plan.limit, rows, key=order)
    return Held(held.names, held.kinds, chosen[plan.offset :])


def windowed(plan: Window, held: Held, constants: Constants) -> Held:
    """The rows with columns computed over their partitions."""
    columns = held.columns(constants)
    partition = [columns.compiled(scalar).of for scalar in plan.calls[0][1].partition]
    calls = [_window(call, columns) for _, call in plan.calls]
    groups: dict[Row, list[Row]] = {}
    for row in repeated(held):
        groups.setdefault(tuple(key(row) for key in partition), []).append(row)
    rows: list[Row] = []
    for members in groups.values():
        values = [of(members) for _, of in calls]
        rows += [row + tuple(column[i] for column in values) for i, row in enumerate(members)]
    return Held(plan.names, held.kinds + tuple(kind for kind, _ in calls), rows)


def repeated(held: Held) -> list[Row]:
    """Each row as often as it counts."""
    counted = held.counted()
    if sum(counted.values()) > REPEATED:
        raise Elsewhere("too many rows")
    return [row for row, times in counted.items() for _ in range(times)]


def _window(call: WindowCall, columns: Columns) -> tuple[Kind, Callable[[list[Row]], list[Any]]]:
    if call.frame is not None or (call.function not in _RANKS and call.order):
        raise Elsewhere("a frame")
    if call.function not in _RANKS:
        plain = _Call(AggregateCall(call.function, call.args), columns, _aggregate)
        return plain.kind, lambda members: [plain.of([(row, 1) for row in members])] * len(members)
    order, which = _order(call.order, columns), _RANKS.index(call.function)

    def ranks(members: list[Row]) -> list[Any]:
        values: list[Any] = [None] * len(members)
        for place, found in _ranked(members, order):
            values[place] = found[which]
        return values

    return kinds.INT, ranks


_RANKS = ("row_number", "rank", "dense_rank")


def _ranked(members: list[Row], order: Callable[[Row], Any]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    rank = dense = 0
    previous: Any = None
    for number, place in enumerate(sorted(range(len(members)), key=lambda i: order(members[i])), start=1):
        current = order(members[place])
        if previous is None or previous < current:
            rank, dense = number, dense + 1
        previous = current
        yield place, (number, rank, dense)


def _order(keys: tuple[SortKey, ...], columns: Columns) -> Callable[[Row], Any]:
    """A sort key for rows: NULLs where the order says."""
    parts = [_sorted_by(key, columns.compiled(key.scalar)) for key in keys]
    return lambda row: [part(row) for part in parts]


def _sorted_by(key: SortKey, scalar: Compiled) -> Of:
    of, null = order_of(scalar), (0,) if key.nulls_first else (2,)
    if not key.descending:
        return lambda row: null if (value := of(row)) is None else (1, value)
    turned = operator.neg if kinds.is_exact(scalar.kind) else _Turned
    return lambda row: null if (value := of(row)) is None else (1, turned(value))


@total_ordering
class _Turned:
    """A value that stands before those that it is above."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turned) and bool(self._value == other._value)

    def __lt__(self, other: _Turned) -> bool:
        return bool(other._value < self._value)

    __hash__ = None  # type: ignore[assignment]
