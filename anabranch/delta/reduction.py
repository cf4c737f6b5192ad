"""A table reduced to the rows that have one of some keys: what is read instead of it, at either end.

T₁ ⋉ D            for T₁
T₁ ⋉ D - ΔT ⋉ D   for T₀
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.plan import (
    Delta,
    Distinct,
    Filter,
    IntervalEnd,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    Support,
    UnionAll,
)
from anabranch.algebra.plan_text import plan_text
from anabranch.algebra.scalar import Call, Ref
from anabranch.delta.key_bounds import Bound, SourceColumn
from anabranch.delta.look_ups import as_look_up

KEY, COLUMN = "__d", "__r_"


@dataclass(frozen=True)
class Reduction:
    """A table at one end, or at both, reduced by some columns."""

    table: str
    bounds: tuple[tuple[str, Bound], ...]
    """The columns, each with the values that matter."""
    scans: tuple[Scan, ...]
    """What it replaces."""
    end: IntervalEnd

    @property
    def rows(self) -> Plan:
        """T ⋉ D, for each of the columns, with all columns that any of the scans reads."""
        own = dict.fromkeys(column for scan in self.scans for _, column in scan.columns)
        rows: Plan = Scan(self.table, tuple((COLUMN + column, column) for column in sorted(own)), self.end)
        for column, bound in self.bounds:
            rows = Join(rows, _key_set(bound), "semi", _same_key(COLUMN + column, bound))
        return rows

    def rows_of(self, scan: Scan) -> Plan:
        """What stands for a scan."""
        rows = Project(self.rows, tuple((name, Ref(COLUMN + column)) for name, column in scan.columns))
        if scan.at is self.end:
            return rows
        change: Plan = Delta(scan.table, scan.columns)
        for column, bound in self.bounds:
            name = next(name for name, own in scan.columns if own == column)
            if not self._holds_own_change(column, bound):
                change = Join(change, _key_set(bound), "semi", _same_key(name, bound))
            elif not bound.null_safe:
                change = Filter(change, Call("not", (Call("is null", (Ref(name),)),)))
        return Rows(Net(UnionAll((rows, Negate(change)))))

    def _holds_own_change(self, column: str, bound: Bound) -> bool:
        """Whether all keys of the table's own change are among D."""
        return any(
            isinstance(source, Delta) and (source.table, dict(source.columns)[name]) == (self.table, column)
            for source, name in bound.columns
        )


def _key_set(bound: Bound) -> Plan:
    """D, as one column."""
    parts = [
        Project(Support(source), ((KEY, Ref(name)),))
        for source, name in sorted(bound.columns, key=_source_order)
    ]
    return Distinct(parts[0] if len(parts) == 1 else UnionAll(tuple(parts)))


def _same_key(name: str, bound: Bound) -> Call:
    return Call("<=>" if bound.null_safe else "=", (Ref(name), Ref(KEY)))


def _source_order(column: SourceColumn) -> tuple[int, str, str]:
    leaf, name = column
    if (look_up := as_look_up(leaf)) is not None:
        leaf = look_up.scan
    match leaf:
        case Delta(table, columns):
            return 0, table, dict(columns)[name]
        case Scan(table, columns):
            return 1, table, dict(columns)[name]
        case _:
            # Two steps may have the same columns: what they compute tells them apart, in every process alike.
            return 2, plan_text(leaf), name
