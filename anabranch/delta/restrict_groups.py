"""Groups that only some keys are asked of are computed for these keys alone.

    L ∘ γ(R) = L ∘ γ(R ⋉ F),  for ∘ in ⋈, ⟕, ⋉, ▷, where L has no key of γ's but those of F

F is a filtered table that L is joined with by the key: `part` with a certain brand, where γ is the average
quantity of every part. A change of R touches the groups of F alone then, and finding their rows takes reading
a few of R's rows, not those of every group that the change has rows of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Scan,
    Support,
    UnionAll,
    subplans,
    tables,
)
from anabranch.algebra.scalar import Call, Ref
from anabranch.algebra.transform import transform_up
from anabranch.delta.key_bounds import equal_columns
from anabranch.delta.push_semi_joins import push_semi_join

KEY = "__f"
FilteredColumn = tuple[Plan, str]
"""A filtered table, and one of its columns."""


def restrict_groups(plan: Plan) -> Plan:
    """The query with groups restricted to the keys of filtered tables that they are joined with.

    Law: evaluate(restrict_groups(plan)) = evaluate(plan).
    """
    return transform_up(plan, _restrict_sides)


def _restrict_sides(plan: Plan) -> Plan:
    if not isinstance(plan, Join) or plan.kind == "full":
        return plan
    for here, there, null_safe in equal_columns(plan):
        if null_safe:
            continue
        restricted = _restrict(plan.right, there.name, plan.left, here.name)
        if restricted is not None:
            return replace(plan, right=restricted)
        if plan.kind == "inner":
            restricted = _restrict(plan.left, here.name, plan.right, there.name)
            if restricted is not None:
                return replace(plan, left=restricted)
    return plan


def _restrict(groups: Plan, key: str, asking: Plan, column: str) -> Plan | None:
    """Groups restricted to what a filtered table leaves of the keys that they are asked for."""
    if not _is_group_key(groups, key):
        return None
    read = tables(groups)
    for filtered, name in _filtered_columns(asking, column):
        if not tables(filtered) & read:
            keys = Project(filtered, ((KEY, Ref(name)),))
            return push_semi_join(groups, keys, Call("=", (Ref(key), Ref(KEY))))
    return None


def _is_group_key(plan: Plan, name: str) -> bool:
    """Whether a column is what groups are told apart by, unchanged."""
    match plan:
        case Filter(source):
            return _is_group_key(source, name)
        case Project(source, items):
            scalar = dict(items)[name]
            return isinstance(scalar, Ref) and _is_group_key(source, scalar.name)
        case Aggregate(source, keys):
            key = dict(keys).get(name)
            # What is restricted already stays as it is.
            return isinstance(key, Ref) and not is_restricted(source)
        case _:
            return False


def drop_repeated_restrictions(plan: Plan) -> Plan:
    """The change plan without restrictions to a filtered table that keys come from already.

        T ⋉ F ⋉ K = T ⋉ K,  where all keys of K are F's

    Law: evaluate(drop_repeated_restrictions(plan)) = evaluate(plan).
    """
    return transform_up(plan, _drop_repeated_restriction)


def _drop_repeated_restriction(part: Plan) -> Plan:
    if not isinstance(part, Join) or part.kind != "semi" or part.right.names != (KEY,):
        return part
    match part.right, part.on:
        case Project(filtered, ((_, Ref(own)),)), Call("=", (Ref(column), Ref(key))) if key == KEY:
            known = _remove_semi_joins(filtered), own
            if any(known in found for found in _key_origins(part.left, column)):
                return part.left
    return part


def _remove_semi_joins(filtered: Plan) -> Plan:
    """A filtered table, whatever keys it has been restricted to."""
    match filtered:
        case Filter(source):
            return replace(filtered, input=_remove_semi_joins(source))
        case Project(source):
            return replace(filtered, input=_remove_semi_joins(source))
        case Join(left, _, "semi"):
            return _remove_semi_joins(left)
        case _:
            return filtered


def _key_origins(plan: Plan, column: str) -> Iterator[set[FilteredColumn]]:
    """For every semi join by a column: the filtered tables that have all of its keys."""
    while isinstance(plan, Join | Filter | Project):
        match plan:
            case Filter(source):
                plan = source
            case Project(source, items):
                scalar = dict(items)[column]
                if not isinstance(scalar, Ref):
                    return
                plan, column = source, scalar.name
            case Join(left, right, kind):
                if kind != "semi":
                    return
                for here, there, _ in equal_columns(plan):
                    if here.name == column:
                        yield set(_filtered_key_columns(right, there.name))
                plan = left


def _filtered_key_columns(keys: Plan, name: str) -> Iterator[FilteredColumn]:
    """The filtered tables that have all values of a column of keys."""
    match keys:
        case Distinct(source) | Support(source) | Net(source):
            yield from _filtered_key_columns(source, name)
        case Project(source, items):
            scalar = dict(items)[name]
            if isinstance(scalar, Ref):
                yield from _filtered_key_columns(source, scalar.name)
        case UnionAll(parts):
            place = keys.names.index(name)
            found = [set(_filtered_key_columns(part, part.names[place])) for part in parts]
            yield from set.intersection(*found)
        case _:
            yield from _filtered_columns(keys, name)


def is_restricted(plan: Plan) -> bool:
    """Whether rows are restricted to the keys of a filtered table."""
    return any(isinstance(part, Join) and KEY in part.right.names for part in subplans(plan))


def _filtered_columns(
    plan: Plan, name: str, seen: set[FilteredColumn] | None = None
) -> Iterator[FilteredColumn]:
    """The filtered tables that have every value of a column, and which of their columns has them.

    `seen`: what was looked through already, since a query may read one subplan many times.
    """
    seen = set() if seen is None else seen
    if (plan, name) in seen:
        return
    seen.add((plan, name))
    match plan:
        case Filter(source):
            match _remove_semi_joins(plan):
                case Filter(Scan()) | Filter(Project(Scan())) as filtered:
                    yield filtered, name
                case _:
                    yield from _filtered_columns(source, name, seen)
        case Project(source, items):
            scalar = dict(items)[name]
            if isinstance(scalar, Ref):
                yield from _filtered_columns(source, scalar.name, seen)
        case Join(left, right, kind) if kind != "full":
            if name in left.names:
                yield from _filtered_columns(left, name, seen)
            elif kind == "inner":
                yield from _filtered_columns(right, name, seen)
            if kind in ("inner", "semi"):
                for here, there, _ in equal_columns(plan):
                    if here.name == name:
                        yield from _filtered_columns(right, there.name, seen)
                    elif there.name == name:
                        yield from _filtered_columns(left, here.name, seen)
        case _:
            return
