"""The inner join: bilinear, so its change is two joins."""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Join, Plan, UnionAll
from anabranch.delta.interval_ends import Change, at_since, at_until


def change_of_inner_join(join: Join, change: Change) -> Plan:
    """Δ(L ⋈ R) = ΔL ⋈ R₁ + L₀ ⋈ ΔR."""
    return UnionAll(
        (
            replace(join, left=change(join.left), right=at_until(join.right)),
            replace(join, left=at_since(join.left), right=change(join.right)),
        )
    )
