"""Making a plan smaller without changing what it means, by a list of rewrites.

What is known when a refresh is planned goes in first: a table that didn't change has no change,
and is the same at both ends. Most of a change plan vanishes with that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    IntervalEnd,
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
    empty,
    is_empty,
)
from anabranch.algebra.prune_columns import prune_columns
from anabranch.algebra.scalar import TRUE, Ref
from anabranch.algebra.transform import transform_up
from anabranch.delta.both_ends import Origins, change_at_both_ends
from anabranch.delta.join_order import reduce_right_sides, reorder_joins
from anabranch.delta.keep_weights import keep_weights
from anabranch.delta.push_semi_joins import push_semi_joins
from anabranch.delta.reduce_tables import reduce_tables
from anabranch.delta.restrict_groups import drop_repeated_restrictions
from anabranch.delta.since_from_until import derive_since_from_until
from anabranch.delta.single_partition import NOTHING, RelationFacts


def simplify(
    plan: Plan,
    *,
    changed: Collection[str] | None = None,
    known: RelationFacts = NOTHING,
    origins: Origins = (),
) -> Plan:
    """The same Z-set by a smaller plan, given which tables changed (None: any may have), and what is known
    of the sizes of what it reads. `origins`: of which subplans parts of it are the change.
    """
    if known.scans and changed is not None:
        plan = change_at_both_ends(plan, origins, changed, known)
    passes: list[Callable[[Plan], Plan]] = [
        lambda part: specialise(part, changed),
        drop_empty,
        push_semi_joins,
        drop_repeated_restrictions,
        drop_empty,
        lambda part: reduce_right_sides(part, known),
        drop_repeated_restrictions,
        lambda part: (reduce_tables if known.scans else derive_since_from_until)(part, known),
        lambda part: reorder_joins(part, known),
    ]
    if known.scans:
        passes += [keep_weights, prune_columns]
    for one in passes:
        plan = one(plan)
    return plan


def specialise(plan: Plan, changed: Collection[str] | None) -> Plan:
    """ΔT = 0 and T₀ = T₁ for every table T that didn't change."""
    if changed is None:
        return plan

    def specialise_leaf(part: Plan) -> Plan:
        match part:
            case Delta(table) if table not in changed:
                return empty(part.names)
            case Scan(table, _, IntervalEnd.SINCE) if table not in changed:
                return replace(part, at=IntervalEnd.UNTIL)
            case _:
                return part

    return transform_up(plan, specialise_leaf)


def drop_empty(plan: Plan) -> Plan:
    """What is made of nothing is nothing; what does nothing is left out."""
    return transform_up(plan, _simplify_node)


def _simplify_node(plan: Plan) -> Plan:
    match plan:
        case Filter(source, condition) if condition == TRUE:
            return source
        case Project(source, items) if items == tuple((name, Ref(name)) for name in source.names):
            return source
        case Net(Net() | Support() | Distinct() as source) | Support(Support() | Distinct() as source):
            return source
        case Support(Net(Delta() as source)):
            # The rows of a `Delta` are net already.
            return Support(source)
        case Negate(Negate(source)):
            return source
        case Filter() | Project() | Generate() | Negate() | Net() | Support() | Rows():
            return empty(plan.names) if is_empty(plan.input) else plan
        case Distinct() | Window() | Top():
            return empty(plan.names) if is_empty(plan.input) else plan
        case Aggregate(source, keys) | Tally(source, keys):
            return empty(plan.names) if is_empty(source) and keys else plan
        case UnionAll():
            return _simplify_union(plan)
        case Join():
            return _simplify_join(plan)
        case SetOp(left, right, kind):
            nothing = is_empty(left) or (kind == "intersect" and is_empty(right))
            return empty(plan.names) if nothing else plan
        case _:
            return plan


def _simplify_join(plan: Join) -> Plan:
    left, right = is_empty(plan.left), is_empty(plan.right)
    match plan.kind:
        case "inner" | "semi":
            nothing = left or right
        case "left" | "anti":
            nothing = left
        case "full":
            nothing = left and right
    if nothing:
        return empty(plan.names)
    return plan.left if plan.kind == "anti" and right else plan


def _simplify_union(plan: UnionAll) -> Plan:
    """Flat, without empty parts, and without a part that another one takes back."""
    parts: list[Plan] = []
    for part in plan.parts:
        for inner in _flatten_union(part):
            opposite = inner.input if isinstance(inner, Negate) else Negate(inner)
            if is_empty(inner):
                continue
            if opposite in parts:
                parts.remove(opposite)
            else:
                parts.append(inner)
    if not parts:
        return empty(plan.names)
    whole = parts[0] if len(parts) == 1 else UnionAll(tuple(parts))
    if whole.names == plan.names:
        return whole
    return Project(whole, tuple((new, Ref(old)) for new, old in zip(plan.names, whole.names, strict=True)))


def _flatten_union(part: Plan) -> list[Plan]:
    match part:
        case UnionAll(parts):
            return [inner for one in parts for inner in _flatten_union(one)]
        case Negate(UnionAll(parts)):
            return [inner for one in parts for inner in _flatten_union(Negate(one))]
        case Negate(Negate(source)):
            return _flatten_union(source)
        case _:
            return [part]
