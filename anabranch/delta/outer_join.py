"""Joins that ask whether a row has a matching row: left, semi, anti, full.

All but the full join are linear in the left side: each of its rows is judged alone. A change on the
right only matters for the left rows that match a changed row; those are judged again at both ends.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Join, Negate, Net, Plan, Project, Support, UnionAll
from anabranch.algebra.scalar import NULL, Ref
from anabranch.delta.interval_ends import Change, at_since, at_until


def change_of_left_semi_anti_join(join: Join, change: Change) -> Plan:
    """Δ(L ∘ R) = ΔL ∘ R₁ + A ∘ R₁ - A ∘ R₀, where A = L₀ ⋉ ΔR, for ∘ in ⟕, ⋉, ▷.

    A is found by the join's own condition, so it holds for conditions without an equality too. ΔR is
    added up first: a row that came and went again affects nobody.
    """
    touched = Join(at_since(join.left), Support(Net(change(join.right))), "semi", join.on)
    return UnionAll(
        (
            replace(join, left=change(join.left), right=at_until(join.right)),
            replace(join, left=touched, right=at_until(join.right)),
            Negate(replace(join, left=touched, right=at_since(join.right))),
        )
    )


def change_of_full_join(join: Join, change: Change) -> Plan:
    """L ⟗ R = (L ⟕ R) + (R ▷ L, padded with NULLs), and each of the two has its rule."""
    left = replace(join, kind="left")
    alone = Join(join.right, join.left, "anti", join.on)
    padding = tuple((name, NULL) for name in join.left.names)
    kept = tuple((name, Ref(name)) for name in join.right.names)
    return UnionAll(
        (
            change_of_left_semi_anti_join(left, change),
            Project(change_of_left_semi_anti_join(alone, change), padding + kept),
        )
    )
