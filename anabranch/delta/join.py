"""The inner join: bilinear, so its change is two joins."""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Join, Plan, UnionAll
from anabranch.delta.ends import Change, since, until


def change_of_join(join: Join, change: Change) -> Plan:
    """Δ(L ⋈ R) = ΔL ⋈ R₁ + L₀ ⋈ ΔR."""
    return UnionAll(
        (
            replace(join, left=change(join.left), right=until(join.right)),
            replace(join, left=since(join.left), right=change(join.right)),
        )
    )
