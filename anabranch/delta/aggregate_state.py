"""Groups whose counts, sums and averages a change can be added to.

    count₁ = count₀ + Σ w        sum₁ = sum₀ + Σ w·x        avg₁ = sum₁ / count₁

It holds for types in which addition is exact: integers and decimals, not floating point, where the order
of additions shows in the last digits. A sum also needs to know whether any value was there at all, an
average its sum and count, a group whether it has rows left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from anabranch.algebra.plan import (
    LINEAR_CALLS,
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Plan,
    Project,
    Tally,
)
from anabranch.algebra.scalar import NULL, Call, Cast, Literal, Ref, Scalar, all_of, null_safe_equal
from anabranch.delta.affected_keys import KEY

ROWS = "__rows"
SUM, COUNT = "__sum", "__count"
ADDED = "__d_"

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_INTEGERS = ("tinyint", "smallint", "int")
_WEIGHT_DIGITS = 20
_MAX_DIGITS = 38
_SAFE_SCALE = 6
"""A product that exceeds 38 digits keeps at least so many behind the point."""
_SPARE_DIGITS = 9
"""So many more digits a quotient must have than what it is rounded to, for up to 10⁹ rows a group."""


@dataclass(frozen=True)
class AggregateState:
    """An aggregate with everything in it that maintaining it takes."""

    aggregate: Aggregate
    """The query's own, then further counts and sums."""
    needed: tuple[str, ...]
    """Keys, counts and sums: what must be stored."""
    sums: Mapping[str, tuple[str, str]]
    """For each sum its type, and the count of its values."""
    averages: Mapping[str, tuple[str, str, str]]
    """For each average its type, sum and count."""


@dataclass(frozen=True)
class AffectedGroups:
    """The groups that a change touches: their keys, those that are known, and what becomes of them."""

    touched: Plan
    known: Plan
    """In the columns of what is known, beside the keys that are touched."""
    new: Plan


def exact_state(plan: Aggregate, types: Callable[[Plan], Mapping[str, str]]) -> AggregateState | None:
    """The state of an aggregate, or None if a change alone doesn't say what becomes of it."""
    if not all(_is_linear(call) for _, call in plan.calls):
        return None
    names = {call: name for name, call in plan.calls}

    def name_call(call: AggregateCall, prefix: str) -> str:
        return names.setdefault(call, f"{prefix}{len(names)}")

    averages: dict[str, tuple[str, str]] = {}
    for name, call in plan.calls:
        if call.function != "count":
            count = name_call(replace(call, function="count"), COUNT)
            total = name_call(replace(call, function="sum"), SUM)
            if call.function == "avg":
                averages[name] = (total, count)
    if plan.keys:
        name_call(AggregateCall("count"), ROWS)
    own = {name for name, _ in plan.calls}
    aggregate = replace(
        plan, calls=(*plan.calls, *((name, call) for call, name in names.items() if name not in own))
    )
    # A call may stand twice, under two names: both are sums.
    sums = {
        name: names[replace(call, function="count")]
        for name, call in aggregate.calls
        if call.function == "sum"
    }
    # Asked only where nothing cheaper says no: it takes the engine.
    known = types(aggregate) if sums else {}
    if not all(_is_exact(known[total]) for total in sums):
        return None
    for name, (total, _) in averages.items():
        if not _is_exact_average(known[total], known[name], _argument_type(plan, name, types)):
            return None
    stored = [name for name, call in aggregate.calls if call.function != "avg"]
    return AggregateState(
        aggregate,
        tuple(name for name, _ in plan.keys) + tuple(stored),
        {total: (known[total], count) for total, count in sums.items()},
        {name: (known[name], total, count) for name, (total, count) in averages.items()},
    )


def _is_linear(call: AggregateCall) -> bool:
    """Whether it is made of sums over single values; `count(x, y)` reads two."""
    return not call.distinct and call.function in (*LINEAR_CALLS, "avg") and len(call.args) <= 1


def add_change_to_groups(
    state: AggregateState, change: Plan, stored: Plan, old: Callable[[str], Ref], *, sign: str = "+"
) -> AffectedGroups:
    """What becomes of the groups that a change touches, given what is stored of them.

    With the `sign` -, what they were before it.
    """
    aggregate = state.aggregate
    calls = [(name, call) for name, call in aggregate.calls if call.function != "avg"]
    tally = Tally(
        change,
        tuple((f"{KEY}{place}", key) for place, (_, key) in enumerate(aggregate.keys)),
        tuple((ADDED + name, call) for name, call in calls),
    )
    keys = [Ref(f"{KEY}{place}") for place in range(len(aggregate.keys))]
    on = all_of(null_safe_equal(old(name), key) for (name, _), key in zip(aggregate.keys, keys, strict=True))
    found = Join(tally, stored, "left", on)
    summed: list[tuple[str, Scalar]] = [
        (name, key) for (name, _), key in zip(aggregate.keys, keys, strict=True)
    ]
    for name, call in calls:
        total = Call(sign, (or_zero(old(name)), or_zero(Ref(ADDED + name))))
        summed.append((name, Cast(total, "bigint" if call.function == "count" else state.sums[name][0])))
    groups: Plan = Project(found, tuple(summed))
    known: Plan = found
    if aggregate.keys:
        rows = next(name for name, call in calls if call == AggregateCall("count"))
        groups = Filter(groups, Call(">", (Ref(rows), Literal(0))))
        known = Filter(found, Call(">", (or_zero(old(rows)), Literal(0))))
    finished = [(name, _final_value(state, name)) for name in aggregate.names]
    touched = Project(tally, tuple((key.name, key) for key in keys)) if keys else tally
    return AffectedGroups(touched, known, Project(groups, tuple(finished)))


def _final_value(state: AggregateState, name: str) -> Scalar:
    """A column of a group, once its counts and sums are known: NULL where no value was there."""
    if name in state.averages:
        kind, total, count = state.averages[name]
        quotient = Cast(Call("/", (Cast(Ref(total), _dividend_type(kind, state, total)), Ref(count))), kind)
        return _null_if_no_values(count, quotient)
    if name in state.sums:
        return _null_if_no_values(state.sums[name][1], Ref(name))
    return Ref(name)


def _dividend_type(kind: str, state: AggregateState, total: str) -> str:
    return "double" if kind == "double" else state.sums[total][0]


def _null_if_no_values(count: str, value: Scalar) -> Scalar:
    return Call("case", (Call("=", (Ref(count), Literal(0))), NULL, value))


def or_zero(value: Scalar) -> Scalar:
    """A number that isn't there counts nothing."""
    return Call("coalesce", (value, Literal(0)))


# -- types ----------------------------------------------------------------------------------------


def _is_exact(kind: str) -> bool:
    """Whether sums of this type can be added to, times a weight, without losing a digit.

    >>> [_is_exact(kind) for kind in ("bigint", "decimal(25,2)", "decimal(38,10)", "double")]
    [True, True, False, False]
    """
    if kind == "bigint":
        return True
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return False
    digits, scale = int(found[1]), int(found[2])
    # The sum has ten digits more than what is summed; a product has one more than its factors.
    return scale <= _SAFE_SCALE or digits - 10 + _WEIGHT_DIGITS + 1 <= _MAX_DIGITS


def _is_exact_average(total: str, average: str, argument: str) -> bool:
    """Whether sum / count, rounded to the average's type, is what Spark's own average gives.

    >>> is_exact = _is_exact_average
    >>> is_exact("decimal(25,2)", "decimal(19,6)", "decimal(15,2)"), is_exact("bigint", "double", "bigint")
    (True, False)
    """
    if total == "bigint":
        # For these Spark adds up doubles; below 2⁵³ they are exact.
        return average == "double" and argument in _INTEGERS
    summed, result = _DECIMAL.fullmatch(total), _DECIMAL.fullmatch(average)
    if summed is None or result is None:
        return False
    digits, scale = int(summed[1]), int(summed[2])
    whole = digits - scale
    behind = max(_MAX_DIGITS - whole, _SAFE_SCALE)
    return min(behind, scale + _WEIGHT_DIGITS + 1) >= int(result[2]) + _SPARE_DIGITS


def _argument_type(plan: Aggregate, name: str, types: Callable[[Plan], Mapping[str, str]]) -> str:
    """The type of what an aggregate averages."""
    call = dict(plan.calls)[name]
    return types(Project(plan.input, (("x", call.args[0]),)))["x"]
