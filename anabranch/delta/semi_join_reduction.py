"""Semi-join reduction by filtered tables, before groups are computed that a filter throws away.

(A ⋉ K) ⋈ σ(B ⋉ K), where both are restricted to the same few keys K and the join equates what they are
restricted by. K is what changed in a grouping, so it takes reading the rows of all groups that a change
touches, before σ leaves but a few of them. But K may as well be restricted to what σB has of its keys, and
that goes down to the keys that the change touches, above any group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from anabranch.algebra.plan import (
    Aggregate,
    Filter,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    Support,
    Tally,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import Call, Ref
from anabranch.algebra.transform import map_inputs, transform_up
from anabranch.delta.small_subplans import equalities

EQUAL = ("=", "<=>")
Reducer = Callable[[Plan, str], Plan]
"""A plan restricted by one of its columns."""


@lru_cache(maxsize=256)
def reduce_by_filtered_tables(plan: Plan) -> Plan:
    """The plan with keys reduced by the filtered tables they are about to be joined with.

    Law: evaluate(reduce_by_filtered_tables(plan)) = evaluate(plan).
    """
    return transform_up(plan, _reduce_join)


def _reduce_join(part: Plan) -> Plan:
    if not isinstance(part, Join) or part.kind not in ("inner", "semi"):
        return part
    left, right = part.left, part.right
    if not isinstance(left, Join) or left.kind != "semi" or not _needs_table_read(left.right):
        return part
    found = _semi_join_below_filter(right)
    if found is None or found.right != left.right:
        return part
    key = _common_key(part, left, right, found)
    if key is None:
        return part
    column, other = key
    filtered = _remove_semi_join(right, found)
    keys = _push_reduction(
        left.right, column, lambda keys, name: _semi_join_keys(keys, name, filtered, other)
    )
    return replace(
        part,
        left=replace(left, right=keys),
        right=_replace_below(right, found, replace(found, right=keys)),
    )


def _needs_table_read(keys: Plan) -> bool:
    """Whether keys are what groupings of a table have: it is read for them."""
    parts = list(subplans(keys))
    return any(isinstance(part, Aggregate) for part in parts) and any(isinstance(p, Scan) for p in parts)


def _semi_join_below_filter(side: Plan) -> Join | None:
    """The semi join of a table below a filter, if that is what one side is."""
    filtered = False
    while isinstance(side, Filter | Project):
        filtered = filtered or isinstance(side, Filter)
        side = side.input
    if filtered and isinstance(side, Join) and side.kind == "semi" and isinstance(side.left, Scan):
        return side
    return None


def _common_key(join: Join, left: Join, right: Plan, below: Join) -> tuple[str, str] | None:
    """A column of the keys that both sides are restricted by and equal in, and its name in the right side."""
    ours = {here: there for op, here, there in equalities(left) if op in EQUAL}
    theirs = {here: there for op, here, there in equalities(below) if op in EQUAL}
    for op, here, there in equalities(join):
        if op != "=" or not isinstance(there, Ref):
            continue
        key, under = ours.get(here), _source_column(right, there.name, below)
        if isinstance(key, Ref) and under is not None and theirs.get(under) == key:
            return key.name, there.name
    return None


def _source_column(side: Plan, name: str, below: Plan) -> Ref | None:
    """The column further below that a column is, unchanged."""
    found = Ref(name)
    while side is not below:
        if isinstance(side, Project):
            scalar = dict(side.items)[found.name]
            if not isinstance(scalar, Ref):
                return None
            found = scalar
        (side,) = side.inputs
    return found


def _remove_semi_join(side: Plan, below: Join) -> Plan:
    return _replace_below(side, below, below.left)


def _replace_below(side: Plan, below: Plan, other: Plan) -> Plan:
    """One side with another part below its filters and projections."""
    return other if side is below else map_inputs(side, lambda part: _replace_below(part, below, other))


def _semi_join_keys(keys: Plan, name: str, filtered: Plan, other: str) -> Plan:
    return Join(keys, filtered, "semi", Call("=", (Ref(name), Ref(other))))


def _push_reduction(plan: Plan, column: str, reduce: Reducer) -> Plan:
    """A plan restricted by a column, above the first place where that takes reading more."""
    match plan:
        case Support(source) | Net(source) | Negate(source) | Rows(source) | Filter(source):
            return map_inputs(plan, lambda _: _push_reduction(source, column, reduce))
        case Project(source, items) if isinstance(scalar := dict(items)[column], Ref):
            return replace(plan, input=_push_reduction(source, scalar.name, reduce))
        case UnionAll(parts):
            place = plan.names.index(column)
            return UnionAll(tuple(_push_reduction(part, part.names[place], reduce) for part in parts))
        case Aggregate(source, keys) | Tally(source, keys) if isinstance(key := dict(keys).get(column), Ref):
            return replace(plan, input=_push_reduction(source, key.name, reduce))
        case Join(left, right, "semi") if (there := _equal_right_column(plan, column)) is not None:
            return replace(plan, right=_push_reduction(right, there, reduce))
        case Join(left, right, "left" | "semi") if column in left.names:
            there = _equal_right_column(plan, column)
            # A row of the right without a matching key on the left is of no use.
            partners = right if there is None else _push_reduction(right, there, reduce)
            return replace(plan, left=_push_reduction(left, column, reduce), right=partners)
        case _:
            return reduce(plan, column)


def _equal_right_column(join: Join, column: str) -> str | None:
    """The column of the right that a column of the left equals."""
    for op, here, there in equalities(join):
        if op in EQUAL and here == Ref(column) and isinstance(there, Ref):
            return there.name
    return None
