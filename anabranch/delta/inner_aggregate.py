"""Groups below the root, whose counts and sums are computed at one end only.

The other end follows from what the change adds to them:

    γ₀ = γ₁ - tally(ΔR)
    Δ(γ(R)) = γ₁ - γ₀,  over the groups that ΔR touches

Computing them at both ends would read what is below twice, and that is most of the work: a change of a few
lines touches few groups, but finding all rows of these groups takes reading every row. As at the root, it
holds for types in which addition is exact (see `aggregate_state`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anabranch.algebra.plan import Aggregate, Negate, Plan, Project, UnionAll
from anabranch.algebra.scalar import Ref
from anabranch.delta.affected_keys import KEY, affected_keys, restrict_to_keys
from anabranch.delta.aggregate_state import AggregateState, add_change_to_groups
from anabranch.delta.interval_ends import Change, at_until

AFTER = "__a"

Exact = Callable[[Aggregate], AggregateState | None]
"""The state of an aggregate, if a change says what is added to it."""


def change_of_inner_aggregate(plan: Aggregate, state: AggregateState, change: Change) -> Plan:
    """Δ(γ(R)), from the groups as they are at the end.

    Both ends come from one join with the tally: the keys by which groups are found may be too many.
    """
    keys = [key for _, key in plan.keys]
    changed = change(plan.input)
    after = replace(
        state.aggregate, input=restrict_to_keys(at_until(plan.input), keys, affected_keys(changed, keys))
    )
    places = {name: f"{AFTER}{place}" for place, name in enumerate(after.names)}
    named = Project(after, tuple((place, Ref(name)) for name, place in places.items()))
    groups = add_change_to_groups(state, changed, named, lambda name: Ref(places[name]), sign="-")
    # Keys are taken from the tally at both ends: they are columns of the change.
    own = {name: f"{KEY}{place}" for place, (name, _) in enumerate(plan.keys)}
    new = Project(groups.known, tuple((name, Ref(own.get(name, places[name]))) for name in plan.names))
    old = Project(groups.new, tuple((name, Ref(name)) for name in plan.names))
    return UnionAll((new, Negate(old)))
