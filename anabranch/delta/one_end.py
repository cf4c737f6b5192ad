"""What a table held before follows from what it holds now: it isn't read a second time.

    R₀ ⋉ K = R₁ ⋉ K - ΔR ⋉ K

A join that asks for partners is judged at both ends, so the same keys are looked up twice in a table that is
large, and finding a few rows in it takes a look at every row. The change is small, and at hand.

It needs columns whose equal values are the same in all respects: taking -0.0 away from 0.0 leaves neither.
Only partners are looked up so. The rows of a group may be most of a table, and are better added up where
they are read.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import (
    At,
    Delta,
    Filter,
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
from anabranch.algebra.rebuild import with_inputs
from anabranch.algebra.scalar import Ref
from anabranch.delta.order import PARTNER
from anabranch.delta.together import Known


def from_one_end(plan: Plan, known: Known) -> Plan:
    """Partners at the interval's beginning, told from those at its end where these are needed too.

    Law: evaluate(from_one_end(plan)) = evaluate(plan).
    """
    there = set(subplans(plan))
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = told(part) or with_inputs(part, visit)
        return found

    def told(part: Plan) -> Plan | None:
        scan = _looked_up(part)
        if scan is None or scan.at is not At.SINCE or not _may(scan, known):
            return None
        after = _over(part, replace(scan, at=At.UNTIL))
        if after not in there:
            return None
        change = _over(part, Delta(scan.table, scan.columns))
        return Rows(Net(UnionAll((visit(after), Negate(visit(change))))))

    return visit(plan)


def _looked_up(part: Plan) -> Scan | None:
    """The table whose rows a part looks up by keys, then chooses from, row by row and column by column."""
    match part:
        case Join(Scan() as scan, keys, "semi") if keys.names[0].startswith(PARTNER):
            return scan
        case Filter(source):
            return _looked_up(source)
        case Project(source, items) if all(isinstance(scalar, Ref) for _, scalar in items):
            return _looked_up(source)
        case _:
            return None


def _over(part: Plan, leaf: Scan | Delta) -> Plan:
    """The same look-up in something else."""
    match part:
        case Filter(source) | Project(source):
            return replace(part, input=_over(source, leaf))
        case Join():
            return replace(part, left=leaf)
    raise TypeError(f"{type(part).__name__} looks nothing up")


def _may(scan: Scan, known: Known) -> bool:
    """Whether it is large enough to matter, and its rows can be taken away from one another."""
    exact = all((scan.table, column) in known.exact for _, column in scan.columns)
    return exact and scan.table not in known.tables
