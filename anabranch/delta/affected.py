"""Everything else: recompute what the change can have touched, at both ends.

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
from anabranch.algebra.scalar import Ref, Scalar, all_of, same
from anabranch.delta.ends import Change, since, until

KEY = "__k"


def change_of_groups(plan: Aggregate, change: Change) -> Plan:
    """Δ(γ(R)): K are the group keys."""
    keys = [key for _, key in plan.keys]
    if not keys:
        return _recomputed(until(plan), since(plan))
    touched = touched_keys(change(plan.input), keys)
    return _recomputed(
        replace(plan, input=restricted(until(plan.input), keys, touched)),
        replace(plan, input=restricted(since(plan.input), keys, touched)),
    )


def change_of_rows(plan: Distinct, change: Change) -> Plan:
    """Δ(DISTINCT R): K are whole rows."""
    keys = [Ref(name) for name in plan.input.names]
    touched = touched_keys(change(plan.input), keys)
    return _recomputed(
        Distinct(restricted(until(plan.input), keys, touched)),
        Distinct(restricted(since(plan.input), keys, touched)),
    )


def change_of_sets(plan: SetOp, change: Change) -> Plan:
    """Δ(L ∩ R), Δ(L - R): K are whole rows of either side, by position."""
    left = [Ref(name) for name in plan.left.names]
    right = [Ref(name) for name in plan.right.names]
    touched = touched_rows(plan, change)
    return _recomputed(
        replace(
            plan,
            left=restricted(until(plan.left), left, touched),
            right=restricted(until(plan.right), right, touched),
        ),
        replace(
            plan,
            left=restricted(since(plan.left), left, touched),
            right=restricted(since(plan.right), right, touched),
        ),
    )


def change_of_windows(plan: Window, change: Change) -> Plan:
    """Δ(ω(R)): K are the partition keys."""
    keys = list(plan.calls[0][1].partition)
    if not keys:
        return _recomputed(until(plan), since(plan))
    touched = touched_keys(change(plan.input), keys)
    return _recomputed(
        replace(plan, input=restricted(until(plan.input), keys, touched)),
        replace(plan, input=restricted(since(plan.input), keys, touched)),
    )


def change_of_top(plan: Top) -> Plan:
    """Δ(top k of R): there is no key."""
    return _recomputed(until(plan), since(plan))


def touched_keys(changed: Plan, keys: Sequence[Scalar]) -> Plan:
    """K: which keys occur in a change."""
    return Distinct(_key_rows(changed, keys))


def touched_rows(plan: SetOp, change: Change) -> Plan:
    """K of a set operation: whole rows that occur in the change of either side, by position."""
    sides = [_key_rows(change(side), [Ref(name) for name in side.names]) for side in (plan.left, plan.right)]
    return Distinct(UnionAll(tuple(sides)))


def restricted(plan: Plan, keys: Sequence[Scalar], touched: Plan) -> Plan:
    """R ⋉ K: the rows whose key is touched; without keys, all of them."""
    if not keys:
        return plan
    condition = all_of(same(key, Ref(f"{KEY}{index}")) for index, key in enumerate(keys))
    return Join(plan, touched, "semi", condition)


def _key_rows(changed: Plan, keys: Sequence[Scalar]) -> Plan:
    items = [(f"{KEY}{index}", key) for index, key in enumerate(keys)]
    # Added up before the keys are taken, not after: an update leaves its key's weights at zero.
    return Project(Support(Net(changed)), tuple(items))


def _recomputed(after: Plan, before: Plan) -> Plan:
    return UnionAll((after, Negate(before)))
