"""Operators that treat every row alone: their change is themselves, applied to the change."""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Filter, Generate, Plan, Project, UnionAll
from anabranch.delta.interval_ends import Change


def change_of_filter(plan: Filter, change: Change) -> Plan:
    """Δ(σ(R)) = σ(ΔR)."""
    return replace(plan, input=change(plan.input))


def change_of_project(plan: Project, change: Change) -> Plan:
    """Δ(π(R)) = π(ΔR): duplicates stay, so weights simply come along."""
    return replace(plan, input=change(plan.input))


def change_of_generate(plan: Generate, change: Change) -> Plan:
    """Δ(explode(R)) = explode(ΔR)."""
    return replace(plan, input=change(plan.input))


def change_of_union(plan: UnionAll, change: Change) -> Plan:
    """Δ(R + S) = ΔR + ΔS."""
    return UnionAll(tuple(change(part) for part in plan.parts))
