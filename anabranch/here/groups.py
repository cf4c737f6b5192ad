"""Groups, orders and partitions of rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any

from anabranch.algebra.plan import Aggregate, AggregateCall, SortKey, Tally, Top, Window, WindowCall
from anabranch.here import kinds
from anabranch.here.held import Held
from anabranch.here.kinds import BIGINT, BOOLEAN, VOID, Elsewhere, Kind
from anabranch.here.scalars import Columns, Compiled, Constants, Of, Row, divider, order_of
from anabranch.schema import MAX_DECIMAL_PRECISION, Decimal

Values = list[tuple[Any, int]]
"""Arguments with their weights."""
REPEATED = 100_000
"""How many rows an order or a partition has at most, equal ones counted."""


def aggregated(plan: Aggregate, held: Held, constants: Constants) -> Held:
    """A row per group."""
    return _grouped(plan, held, list(held.counted().items()), constants, _aggregate)


def tallied(plan: Tally, held: Held, constants: Constants) -> Held:
    """A row per group, every row counting by its weight."""
    return _grouped(plan, held, list(held.weighed()), constants, _linear)


Build = Callable[[AggregateCall, list[Compiled]], tuple[Kind, Callable[[Values], Any]]]


def _grouped(
    plan: Aggregate | Tally, held: Held, weighed: list[tuple[Row, int]], constants: Constants, build: Build
) -> Held:
    columns = held.columns(constants)
    keys = [columns.compiled(scalar) for _, scalar in plan.keys]
    calls = [_Call(call, columns, build) for _, call in plan.calls]
    groups: dict[Row, list[tuple[Row, int]]] = {}
    for row, weight in weighed:
        groups.setdefault(tuple(key.of(row) for key in keys), []).append((row, weight))
    if not plan.keys and not groups:
        groups[()] = []
    rows = [key + tuple(call.of(members) for call in calls) for key, members in groups.items()]
    found = (*(key.kind for key in keys), *(call.kind for call in calls))
    return Held(plan.names, found, rows)


class _Call:
    """One aggregate, ready for the rows of a group."""

    def __init__(self, call: AggregateCall, columns: Columns, build: Build) -> None:
        args = [columns.compiled(arg) for arg in call.args]
        self.kind, self._result = build(call, args)
        self._where = None if call.where is None else columns.condition(call.where)
        self._args = [arg.of for arg in args]

    def of(self, members: Sequence[tuple[Row, int]]) -> Any:
        if self._where is not None:
            members = [member for member in members if self._where(member[0]) is True]
        return self._result([(_argument(self._args, row), weight) for row, weight in members])


def _argument(args: Sequence[Of], row: Row) -> Any:
    """The value that counts; NULL if any of several is."""
    if len(args) == 1:
        return args[0](row)
    values = tuple(arg(row) for arg in args)
    return None if None in values else values


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

    def total(values: Values) -> int:
        result = _total(values)
        if not kinds.fits(result, kind):
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

    def average(values: Values) -> int:
        result = divide(total(values), _count(values))
        if not kinds.fits(result, kind):
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
    rows = sorted(_repeated(held), key=order)
    end = None if plan.limit is None else plan.offset + plan.limit
    return Held(held.names, held.kinds, rows[plan.offset : end])


def windowed(plan: Window, held: Held, constants: Constants) -> Held:
    """The rows with columns computed over their partitions."""
    columns = held.columns(constants)
    partition = [columns.compiled(scalar).of for scalar in plan.calls[0][1].partition]
    calls = [_window(call, columns) for _, call in plan.calls]
    groups: dict[Row, list[Row]] = {}
    for row in _repeated(held):
        groups.setdefault(tuple(key(row) for key in partition), []).append(row)
    rows: list[Row] = []
    for members in groups.values():
        values = [of(members) for _, of in calls]
        rows += [row + tuple(column[i] for column in values) for i, row in enumerate(members)]
    return Held(plan.names, held.kinds + tuple(kind for kind, _ in calls), rows)


def _repeated(held: Held) -> list[Row]:
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
    parts = [(order_of(columns.compiled(key.scalar)), key.descending, key.nulls_first) for key in keys]

    def compare(left: Row, right: Row) -> int:
        for of, descending, nulls_first in parts:
            a, b = of(left), of(right)
            if a == b:
                continue
            if a is None or b is None:
                return -1 if (a is None) == nulls_first else 1
            return -1 if (a < b) != descending else 1
        return 0

    return cmp_to_key(compare)
