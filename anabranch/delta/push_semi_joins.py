"""Semi-join pushdown: R ⋉ K moves down to where R's rows come from.

A change touches few keys. Recomputing only their groups means nothing if the groups' rows are first
joined and then thrown away; so the restriction goes below projections, filters, unions, joins and
groupings, down to the scans. Where a join equates a key with a column of its other side, that side
is restricted too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Negate,
    Plan,
    Project,
    SetOp,
    UnionAll,
    Window,
)
from anabranch.algebra.scalar import (
    Call,
    Ref,
    Scalar,
    Verbatim,
    all_of,
    children,
    conjuncts,
    refs,
    rename_refs,
    replace_refs,
)
from anabranch.algebra.transform import transform_up
from anabranch.delta.small_subplans import IsSmall

EQUALITIES = ("=", "<=>", "~=")


def push_semi_joins(plan: Plan) -> Plan:
    """The plan with every semi join with few keys pushed down as far as possible.

    A semi join of the query itself stays where it is: nothing is gained by doing it early.
    """
    small = IsSmall()

    def push_if_small(part: Plan) -> Plan:
        match part:
            case Join(left, right, "semi", on) if small(right):
                return push_semi_join(left, right, on)
            case _:
                return part

    return transform_up(plan, push_if_small)


def push_semi_join(plan: Plan, keys: Plan, on: Scalar) -> Plan:
    """`plan ⋉ keys on on`, with the semi join pushed down as far as possible.

    Law: evaluate(push_semi_join(plan, keys, on)) = evaluate(Join(plan, keys, "semi", on)).
    """
    needed = set(refs(on)) & set(plan.names)
    match plan:
        case Filter(source, condition):
            return Filter(push_semi_join(source, keys, on), condition)
        case Negate(source):
            return Negate(push_semi_join(source, keys, on))
        case Distinct(source):
            return Distinct(push_semi_join(source, keys, on))
        case Project(source, items) if _can_substitute(on, dict(items)):
            return replace(plan, input=push_semi_join(source, keys, _substitute_columns(on, dict(items))))
        case UnionAll(parts):
            return UnionAll(
                tuple(push_semi_join(part, keys, _rename_by_position(on, plan, part)) for part in parts)
            )
        case SetOp(left, right):
            return replace(
                plan,
                left=push_semi_join(left, keys, on),
                right=push_semi_join(right, keys, _rename_by_position(on, plan, right)),
            )
        case Aggregate(source, groups) if needed <= {name for name, _ in groups} and _can_substitute(
            on, dict(groups)
        ):
            # Without groups there is one row even for no input: nothing may be taken from below it.
            if groups:
                return replace(
                    plan, input=push_semi_join(source, keys, _substitute_columns(on, dict(groups)))
                )
        case Window(source, calls) if all(Ref(name) in calls[0][1].partition for name in needed):
            return replace(plan, input=push_semi_join(source, keys, on))
        case Generate(source) if needed <= set(source.names):
            return replace(plan, input=push_semi_join(source, keys, on))
        case Join():
            return _push_below_join(plan, keys, on)
        case _:
            pass
    return Join(plan, keys, "semi", on)


def _push_below_join(join: Join, keys: Plan, on: Scalar) -> Plan:
    if join.kind == "full":
        # Taking rows from one side would leave rows of the other without their matching row.
        return Join(join, keys, "semi", on)
    by_left = rename_refs(on, _equal_columns(join.left, join.right, join)) if join.kind == "inner" else on
    if not set(refs(by_left)) & set(join.right.names):
        return replace(
            join,
            left=push_semi_join(join.left, keys, by_left),
            right=_restrict_other_side(join, keys, by_left),
        )
    if join.kind != "inner":
        return Join(join, keys, "semi", on)
    by_right = rename_refs(on, _equal_columns(join.right, join.left, join))
    if not set(refs(by_right)) & set(join.left.names):
        mirrored = replace(join, left=join.right, right=join.left)
        return replace(
            join,
            left=_restrict_other_side(mirrored, keys, by_right),
            right=push_semi_join(join.right, keys, by_right),
        )
    # The key takes columns of both sides: each side is restricted by what concerns it alone, which
    # keeps too much, and the pairs by all of it.
    narrowed = replace(
        join,
        left=_restrict_side(join.left, join.right, keys, by_left),
        right=_restrict_side(join.right, join.left, keys, by_right),
    )
    return Join(narrowed, keys, "semi", on)


def _restrict_side(plan: Plan, other: Plan, keys: Plan, on: Scalar) -> Plan:
    """One side of a join, restricted by the equalities that don't speak of the other."""
    foreign = set(other.names)
    parts = all_of(
        part
        for part in conjuncts(on)
        if isinstance(part, Call) and part.op in EQUALITIES and not set(refs(part)) & foreign
    )
    return push_semi_join(plan, keys, parts) if set(refs(parts)) & set(plan.names) else plan


def _restrict_other_side(join: Join, keys: Plan, on: Scalar) -> Plan:
    """The other side of a join whose left is restricted, restricted by the columns equated with it."""
    by_right = rename_refs(on, _equal_columns(join.right, join.left, join))
    return _restrict_side(join.right, join.left, keys, by_right)


def _equal_columns(side: Plan, other: Plan, join: Join) -> dict[str, str]:
    """Columns of the other side, each with a column of this side that must be equal to it."""
    found: dict[str, str] = {}
    here, there = set(side.names), set(other.names)
    for part in conjuncts(join.on):
        match part:
            case Call("=" | "<=>", (Ref(one), Ref(two))):
                if one in here and two in there:
                    one, two = two, one
                if one in there and two in here:
                    found.setdefault(one, two)
            case _:
                pass
    return found


def _can_substitute(on: Scalar, items: dict[str, Scalar]) -> bool:
    """Whether the columns of a condition can be replaced by what they are computed from."""
    inside_text = {name for text in _verbatim_parts(on) for name in refs(text)}
    return all(isinstance(items[name], Ref) for name in inside_text if name in items)


def _verbatim_parts(scalar: Scalar) -> Iterable[Verbatim]:
    if isinstance(scalar, Verbatim):
        yield scalar
    for child in children(scalar):
        yield from _verbatim_parts(child)


def _substitute_columns(on: Scalar, items: dict[str, Scalar]) -> Scalar:
    return replace_refs(on, lambda ref: items.get(ref.name, ref))


def _rename_by_position(on: Scalar, whole: Plan, part: Plan) -> Scalar:
    return rename_refs(on, dict(zip(whole.names, part.names, strict=True)))
