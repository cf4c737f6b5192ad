"""The rows of a table at `since` are derived from those at `until` and its change: it isn't read twice.

    R₀ ⋉ K = R₁ ⋉ K - ΔR ⋉ K

A join that asks for matching rows is computed at both ends, so the same keys are looked up twice in a table
that is large, and finding a few rows in it takes reading every row. The change is small, and read already.

It needs columns whose equal values are the same in all respects: taking -0.0 away from 0.0 leaves neither.
Only matching rows of joins are looked up so. The rows of a group may be most of a table, and are better
added up where they are read.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import (
    Delta,
    Filter,
    IntervalEnd,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import Ref
from anabranch.algebra.transform import map_inputs
from anabranch.delta.join_order import PARTNER
from anabranch.delta.single_partition import RelationFacts


def derive_since_from_until(plan: Plan, known: RelationFacts) -> Plan:
    """The plan with lookups at `since` derived from those at `until` where these are needed too.

    Law: evaluate(derive_since_from_until(plan)) = evaluate(plan).
    """
    there = set(subplans(plan))
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = derive_lookup(part) or map_inputs(part, visit)
        return found

    def derive_lookup(part: Plan) -> Plan | None:
        scan = _lookup_scan(part)
        if scan is None or scan.at is not IntervalEnd.SINCE or not _can_derive(scan, known):
            return None
        after = _replace_scan(part, replace(scan, at=IntervalEnd.UNTIL))
        if after not in there:
            return None
        change = _replace_scan(part, Delta(scan.table, scan.columns))
        return Rows(Net(UnionAll((visit(after), Negate(visit(change))))))

    return visit(plan)


def _lookup_scan(part: Plan) -> Scan | None:
    """The table whose rows a part looks up by keys, then chooses from, row by row and column by column."""
    match part:
        case Join(Scan() as scan, keys, "semi") if keys.names[0].startswith(PARTNER):
            return scan
        case Filter(source):
            return _lookup_scan(source)
        case Project(source, items) if all(isinstance(scalar, Ref) for _, scalar in items):
            return _lookup_scan(source)
        case _:
            return None


def _replace_scan(part: Plan, leaf: Scan | Delta) -> Plan:
    """The same lookup in another relation."""
    match part:
        case Filter(source) | Project(source):
            return replace(part, input=_replace_scan(source, leaf))
        case Join():
            return replace(part, left=leaf)
    raise TypeError(f"{type(part).__name__} looks nothing up")


def _can_derive(scan: Scan, known: RelationFacts) -> bool:
    """Whether it is large enough to matter, and its rows can be taken away from one another."""
    exact = all((scan.table, column) in known.exact for _, column in scan.columns)
    return exact and scan.table not in known.tables
