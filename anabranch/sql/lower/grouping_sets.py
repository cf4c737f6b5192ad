"""Grouping sets: every row once per set, with NULL for the keys that are not in it.

    γ GROUPING SETS (S₁, …, Sₙ) (R)  =  γ(R₁ + … + Rₙ), Rᵢ = R with the keys outside Sᵢ blanked, marked i

The aggregates see the rows as they were; only keys are blanked. Sets of no rows give no groups, not
even the empty set: so does Spark.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.algebra.plan import Plan, Project, UnionAll
from anabranch.algebra.scalar import FALSE, Call, Cast, Literal, Ref, Scalar, equal, refs
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.grouping import Groups
from anabranch.sql.lower.syntax.tree import Expression, FunctionCall, Node, walk_block


def expand_by_grouping_sets(
    context: Context, plan: Plan, groups: Groups, used: Iterable[Scalar]
) -> tuple[Plan, list[tuple[str, Scalar]]]:
    """R₁ + … + Rₙ, and the columns to group by: the keys, then the set's number."""
    sets = groups.sets or []
    wanted = {name for scalar in used for name in refs(scalar)}
    kept = tuple((name, Ref(name)) for name in plan.names if name in wanted)
    keys = [context.fresh_column("key", scalar) for scalar in groups.keys]
    number = context.fresh_column("grouping_set")
    parts = tuple(
        Project(
            plan,
            (
                *kept,
                *(
                    (key, s if i in one else _typed_null(s))
                    for i, (key, s) in enumerate(zip(keys, groups.keys, strict=True))
                ),
                (number, Literal(index)),
            ),
        )
        for index, one in enumerate(sets)
    )
    return UnionAll(parts), [(key, Ref(key)) for key in (*keys, number)]


def _typed_null(scalar: Scalar) -> Scalar:
    """NULL, of the scalar's type."""
    return Call("case", (FALSE, scalar))


def grouping_values(
    before: Expressions, nodes: Iterable[Node], groups: Groups, number: Ref | None
) -> dict[Expression, Scalar]:
    """grouping() and grouping_id(), computed from the set's number."""
    found: dict[Expression, Scalar] = {}
    for node in nodes:
        for call in walk_block(node):
            if isinstance(call, FunctionCall) and call.name in ("grouping", "grouping_id"):
                found[call] = _value(before, call, groups, number)
    return found


def _value(before: Expressions, call: FunctionCall, groups: Groups, number: Ref | None) -> Scalar:
    context = before.context
    if groups.sets is None or number is None:
        raise context.invalid(
            call, f"{call.name}() needs grouping sets", "it goes with ROLLUP, CUBE and GROUPING SETS."
        )
    args = list(before.scalars(call.args))
    if call.name == "grouping" and len(args) == 1 and args[0] in groups.keys:
        key = groups.keys.index(args[0])
        bits = [int(key not in one) for one in groups.sets]
        return Cast(_value_by_set(number, bits), "TINYINT")
    if call.name == "grouping_id" and (not args or args == groups.keys):
        return Cast(_value_by_set(number, [_bits(one, len(groups.keys)) for one in groups.sets]), "BIGINT")
    raise context.invalid(call, f"{call.name}() takes what stands in GROUP BY, in that order")


def _bits(one: tuple[int, ...], count: int) -> int:
    """A bit per key, the first one highest: set where the key is blanked."""
    return sum(1 << (count - 1 - key) for key in range(count) if key not in one)


def _value_by_set(number: Ref, values: list[int]) -> Scalar:
    args = [part for i, value in enumerate(values) for part in (equal(number, Literal(i)), Literal(value))]
    return Call("case", tuple(args))
