"""Conditions on the rows of one table that are judged without an engine, and where they hold.

A look-up may leave rows out that a filter above it drops anyway, and so may the keys of a look-up. Which rows
those are must be clear from values alone, without conversions: comparisons of columns with constants, and of
columns with each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

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
    Support,
    Tally,
    Window,
    subplans,
)
from anabranch.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    Verbatim,
    all_of,
    conjuncts,
    refs,
    rename_refs,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
CONSTANT_TEXT = re.compile(r"\s*(DATE|INTERVAL)\s*'[^']*'(\s+(YEAR|MONTH|DAY))?\s*", re.IGNORECASE)
"""Dates and intervals as people write them; what else may stand there depends on the session."""

Conditions = frozenset[Scalar]
"""All of them hold."""
NONE: Conditions = frozenset()


def plain_conditions(condition: Scalar) -> Conditions:
    """What follows from a condition and can be judged from values alone."""
    return frozenset(_implied(condition, is_plain))


def _implied(condition: Scalar, wanted: Callable[[Scalar], bool]) -> Iterator[Scalar]:
    """Conditions of some kind that follow from one: parts of it, and of alternatives a part of each.

    >>> a, b = Call("=", (Ref("a"), Literal(1))), Call("=", (Ref("b"), Literal(2)))
    >>> both = Call("or", (all_of((a, b)), all_of((a, Call("not", (b,))))))
    >>> [*_implied(both, lambda part: set(refs(part)) == {"a"})] == [Call("or", (a, a))]
    True
    """
    for part in conjuncts(condition):
        if wanted(part):
            yield part
        elif isinstance(part, Call) and part.op == "or":
            alternatives = [list(_implied(each, wanted)) for each in part.args]
            if all(alternatives):
                yield Call("or", tuple(all_of(each) for each in alternatives))


def is_plain(condition: Scalar) -> bool:
    """Whether a condition only compares columns with constants, or with each other.

    >>> is_plain(Call("<", (Ref("a"), Literal(3))))
    True
    >>> is_plain(Call("<", (Call("abs", (Ref("a"),)), Literal(3))))
    False
    """
    match condition:
        case Call("and" | "or", parts):
            return bool(parts) and all(is_plain(part) for part in parts)
        case Call("not", (part,)):
            return is_plain(part)
        case Call("is null", (Ref(),)):
            return True
        case Call("in", (Ref(), *values)):
            return all(is_constant(value) for value in values)
        case Call("like", (Ref(), Literal(str()))):
            return True
        case Call(op, (one, other)) if op in COMPARISONS:
            columns = [side for side in (one, other) if isinstance(side, Ref)]
            return bool(columns) and all(side in columns or is_constant(side) for side in (one, other))
        case _:
            return False


def is_constant(scalar: Scalar) -> bool:
    """Whether a value is a constant that needs no engine: a literal, a date, sums of such."""
    match scalar:
        case Literal(value):
            return value is not None
        case Verbatim((str(text),)):
            return CONSTANT_TEXT.fullmatch(text) is not None
        case Call("+" | "-", parts):
            return all(is_constant(part) for part in parts)
        case _:
            return False


def selectivity(conditions: Conditions) -> int:
    """How few rows conditions may leave: 2 where a column has some values, 1 where it is in a range."""
    compared = [part for part in conditions if isinstance(part, Call)]
    if any(part.op in ("=", "in", "like") for part in compared):
        return 2
    return int(any(not all(isinstance(arg, Ref) for arg in part.args) for part in compared))


def conditions_of_leaves(plan: Plan) -> Mapping[Scan | Delta, Conditions]:
    """The conditions, in a table's own columns, that hold for all rows of a scan, or of a change, that matter
    to a plan."""
    upwards = subplans(plan)
    known: dict[Plan, Conditions] = {plan: NONE}
    for part in reversed(upwards):
        for below, conditions in _conditions_of_inputs(part, known[part]):
            known[below] = known[below] & conditions if below in known else conditions
    return {
        part: frozenset(rename_refs(condition, dict(part.columns)) for condition in known[part])
        for part in upwards
        if isinstance(part, Scan | Delta)
    }


def _conditions_of_inputs(plan: Plan, conditions: Conditions) -> Iterator[tuple[Plan, Conditions]]:
    match plan:
        case Filter(source, condition):
            yield source, conditions | plain_conditions(condition)
        case Project(source, items):
            yield source, _renamed(conditions, {name: s.name for name, s in items if isinstance(s, Ref)})
        case Net(source) | Support(source) | Distinct(source) | Negate(source) | Rows(source):
            # Rows that fail a condition are equal to none that meets it: they are added up apart.
            yield source, conditions
        case Generate(source):
            yield source, _about(conditions, source)
        case Aggregate(source, keys) | Tally(source, keys) if keys:
            yield source, _renamed(conditions, {name: key.name for name, key in keys if isinstance(key, Ref)})
        case Window(source, calls):
            partition = {key.name: key.name for key in calls[0][1].partition if isinstance(key, Ref)}
            yield source, _renamed(conditions, partition)
        case Join(left, right, kind, on):
            here = conditions if kind != "full" else NONE
            if kind in ("inner", "semi"):
                here |= plain_conditions(on)
            yield left, _about(here, left)
            there = plain_conditions(on) if kind != "full" else NONE
            yield right, _about(there | (conditions if kind == "inner" else NONE), right)
        case _:
            # Parts of a union may be converted to other types: what holds of the result needn't of them.
            for part in plan.inputs:
                yield part, NONE


def _renamed(conditions: Conditions, names: Mapping[str, str]) -> Conditions:
    """What they say of some columns alone, under the names that these have below."""
    return frozenset(
        rename_refs(part, names)
        for condition in conditions
        for part in _implied(condition, lambda part: set(refs(part)) <= set(names))
    )


def _about(conditions: Conditions, plan: Plan) -> Conditions:
    """Those that speak only of a plan's columns."""
    return _renamed(conditions, {name: name for name in plan.names})
