"""All other operators: recompute the keys that the change can have touched, at both ends.

    K = the keys that occur in the input's change
    Δ(f(R)) = f(R₁ ⋉ K) - f(R₀ ⋉ K)

It holds whenever f treats the rows of one key apart from all others: groups by their keys, whole
rows for DISTINCT and set operations, partitions for windows. Keys are compared so that NULL is NULL.
Where there is no key, everything is one key, and both ends are computed in full. (If nothing below changed,
they are the same plan and cancel.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    SetOp,
    Support,
    Top,
    UnionAll,
    Window,
)
from anabranch.algebra.scalar import Ref, Scalar, all_of, null_safe_equal
from anabranch.delta.interval_ends import Change, at_since, at_until

KEY = "__k"


def change_of_aggregate(plan: Aggregate, change: Change) -> Plan:
    """Δ(γ(R)): K are the group keys."""
    keys = [key for _, key in plan.keys]
    if not keys:
        return _difference(at_until(plan), at_since(plan))
    touched = affected_keys(change(plan.input), keys)
    return _difference(
        replace(plan, input=restrict_to_keys(at_until(plan.input), keys, touched)),
        replace(plan, input=restrict_to_keys(at_since(plan.input), keys, touched)),
    )


def change_of_distinct(plan: Distinct, change: Change) -> Plan:
    """Δ(DISTINCT R): K are whole rows."""
    keys = [Ref(name) for name in plan.input.names]
    touched = affected_keys(change(plan.input), keys)
    return _difference(
        Distinct(restrict_to_keys(at_until(plan.input), keys, touched)),
        Distinct(restrict_to_keys(at_since(plan.input), keys, touched)),
    )


def change_of_set_operation(plan: SetOp, change: Change) -> Plan:
    """Δ(L ∩ R), Δ(L - R): K are whole rows of either side, by position."""
    left = [Ref(name) for name in plan.left.names]
    right = [Ref(name) for name in plan.right.names]
    touched = affected_rows(plan, change)
    return _difference(
        replace(
            plan,
            left=restrict_to_keys(at_until(plan.left), left, touched),
            right=restrict_to_keys(at_until(plan.right), right, touched),
        ),
        replace(
            plan,
            left=restrict_to_keys(at_since(plan.left), left, touched),
            right=restrict_to_keys(at_since(plan.right), right, touched),
        ),
    )


def change_of_window(plan: Window, change: Change) -> Plan:
    """Δ(ω(R)): K are the partition keys."""
    keys = list(plan.calls[0][1].partition)
    if not keys:
        return _difference(at_until(plan), at_since(plan))
    touched = affected_keys(change(plan.input), keys)
    return _difference(
        replace(plan, input=restrict_to_keys(at_until(plan.input), keys, touched)),
        replace(plan, input=restrict_to_keys(at_since(plan.input), keys, touched)),
    )


def change_of_top(plan: Top) -> Plan:
    """Δ(top k of R): there is no key."""
    return _difference(at_until(plan), at_since(plan))


def affected_keys(changed: Plan, keys: Sequence[Scalar]) -> Plan:
    """K: which keys occur in a change."""
    return Distinct(_key_rows(changed, keys))


def affected_rows(plan: SetOp, change: Change) -> Plan:
    """K of a set operation: whole rows that occur in the change of either side, by position."""
    sides = [_key_rows(change(side), [Ref(name) for name in side.names]) for side in (plan.left, plan.right)]
    return Distinct(UnionAll(tuple(sides)))


def restrict_to_keys(plan: Plan, keys: Sequence[Scalar], touched: Plan) -> Plan:
    """R ⋉ K: the rows whose key is touched; without keys, all of them."""
    if not keys:
        return plan
    condition = all_of(null_safe_equal(key, Ref(f"{KEY}{index}")) for index, key in enumerate(keys))
    return Join(plan, touched, "semi", condition)


def _key_rows(changed: Plan, keys: Sequence[Scalar]) -> Plan:
    items = [(f"{KEY}{index}", key) for index, key in enumerate(keys)]
    # Added up before the keys are taken, not after: an update leaves its key's weights at zero.
    return Project(Support(Net(changed)), tuple(items))


def _difference(after: Plan, before: Plan) -> Plan:
    return UnionAll((after, Negate(before)))
