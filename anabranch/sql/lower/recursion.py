"""WITH RECURSIVE: a CTE that reads itself becomes a table of its own, which its plan reads."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.plan import Plan

RECURSION_PREFIX = "__recursion"
"""What the tables of recursive CTEs are called, before a number."""


@dataclass(frozen=True)
class Recursion:
    """A recursive CTE: a table that holds the least solution of `table = plan`."""

    table: str
    """A name that no table of the lake has; scans of it stand for the CTE."""
    plan: Plan
    columns: tuple[str, ...]
    """What the table calls the columns of `plan.names`."""
    anchor: Plan
    """The parts of the plan that don't read the table: the same columns, in the types that it has."""
