"""Columns of a plan under other names, in another order."""

from __future__ import annotations

from anabranch.algebra.plan import Plan, Project
from anabranch.algebra.scalar import Ref


def rename_columns(plan: Plan, columns: list[tuple[str, str]]) -> Plan:
    """(new, old) …: a projection, merged with one that stands there already."""
    if isinstance(plan, Project):
        inner = dict(plan.items)
        return Project(plan.input, tuple((new, inner[old]) for new, old in columns))
    return Project(plan, tuple((new, Ref(old)) for new, old in columns))
