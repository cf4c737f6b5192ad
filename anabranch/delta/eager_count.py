"""Eager counts: the matching rows of each key are counted before the left join, not after it.

    γ_{g; count(r)}(L ⟕ R)  =  γ_{g; Σ n}(L ⟕ γ_{k; n := count(r)}(R)),  where k is what the join equates

To count the matches of a row of L, all of its matching rows are read, however few of them changed. With the
counts stored, it takes one row, and a change of R is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.plan import Aggregate, AggregateCall, Join, Plan, Project
from anabranch.algebra.scalar import Call, Ref, all_of, conjuncts, refs
from anabranch.algebra.transform import transform_up
from anabranch.delta.aggregate_state import or_zero
from anabranch.delta.small_subplans import equalities

COUNT, TOTAL, KEY = "__partners_", "__all_partners_", "__partner_"


@dataclass(frozen=True)
class EagerCounts:
    """A plan, and the subplans of it that count matching rows: they are meant to be stored."""

    plan: Plan
    counts: frozenset[Plan]


def count_eagerly(plan: Plan) -> EagerCounts:
    """The plan, with matching rows counted before the join wherever only their number is used.

    Law: evaluate(count_eagerly(plan).plan) = evaluate(plan).
    """
    counts: set[Plan] = set()

    def push_count_below_join(part: Plan) -> Plan:
        if (
            not isinstance(part, Aggregate)
            or not isinstance(part.input, Join)
            or not _can_count_eagerly(part)
        ):
            return part
        join = part.input
        counted = _count_per_key(part, join)
        counts.add(counted)
        return _sum_counts(part, join, counted)

    return EagerCounts(transform_up(plan, push_count_below_join), frozenset(counts))


def _can_count_eagerly(plan: Aggregate) -> bool:
    """Whether an aggregate groups the left side of a left join, and only counts on the right one."""
    join = plan.input
    assert isinstance(join, Join)
    ours, theirs = set(join.left.names), {Ref(name) for name in join.right.names}
    pairs = equalities(join)
    return (
        join.kind == "left"
        # What is equal by conversion has no key in common: '1' and '01' both equal 1.
        and all(op != "~=" for op, _, _ in pairs)
        and 0 < len(pairs) == len(conjuncts(join.on))
        and all(set(refs(key)) <= ours for _, key in plan.keys)
        and bool(plan.calls)
        and all(_is_count(call, theirs) for _, call in plan.calls)
    )


def _is_count(call: AggregateCall, columns: set[Ref]) -> bool:
    """Whether it counts a column, which is NULL without a matching row; a computed value needn't be."""
    plain = call.function == "count" and not call.distinct and call.where is None
    return plain and len(call.args) == 1 and call.args[0] in columns


def _count_per_key(plan: Aggregate, join: Join) -> Aggregate:
    """The right side: a row per key, with as many counts as there are calls."""
    keys = [(_key_name(plan, place), there) for place, (_, _, there) in enumerate(equalities(join))]
    return Aggregate(join.right, tuple(keys), tuple((COUNT + name, call) for name, call in plan.calls))


def _sum_counts(plan: Aggregate, join: Join, counted: Plan) -> Plan:
    on = [
        Call(op, (here, Ref(_key_name(plan, place)))) for place, (op, here, _) in enumerate(equalities(join))
    ]
    sums = tuple((TOTAL + name, AggregateCall("sum", (Ref(COUNT + name),))) for name, _ in plan.calls)
    summed = Aggregate(Join(join.left, counted, "left", all_of(on)), plan.keys, sums)
    keys = tuple((name, Ref(name)) for name, _ in plan.keys)
    # A sum without values is NULL, a count of none is 0.
    return Project(summed, (*keys, *((name, or_zero(Ref(TOTAL + name))) for name, _ in plan.calls)))


def _key_name(plan: Aggregate, place: int) -> str:
    """Names are unique in a plan, so one that is made of another is, too."""
    return f"{KEY}{place}_{plan.calls[0][0]}"
