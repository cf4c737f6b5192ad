"""A table reduced to the rows that have one of some keys: what is read instead of it, at either end.

σ(T₁ ⋉ D)               for T₁
σ(T₁ ⋉ D) - σ(ΔT ⋉ D)   for T₀

where σ are conditions that hold for all rows of T that matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import (
    Delta,
    Filter,
    IntervalEnd,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    UnionAll,
)
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, rename_refs
from anabranch.delta.key_bounds import Bound
from anabranch.delta.key_sets import keep_keys
from anabranch.delta.look_ups import FOUND_PREFIX, as_changed_rows


@dataclass(frozen=True)
class Reduction:
    """A table at one end, or at both, reduced by some columns."""

    table: str
    bounds: tuple[tuple[str, Bound], ...]
    """The columns, each with the values that matter."""
    scans: tuple[Scan, ...]
    """What it replaces."""
    end: IntervalEnd
    conditions: tuple[Scalar, ...] = ()
    """What holds, in the table's columns, for all rows that matter: others needn't be fetched."""

    @property
    def rows(self) -> Plan:
        """σ(T ⋉ D), for each of the columns, with all columns that any of the scans reads."""
        own = dict.fromkeys(column for scan in self.scans for _, column in scan.columns)
        rows: Plan = Scan(
            self.table, tuple((FOUND_PREFIX + column, column) for column in sorted(own)), self.end
        )
        for column, bound in self.bounds:
            rows = keep_keys(rows, FOUND_PREFIX + column, bound.columns, null_safe=bound.null_safe)
        return self._choose_rows(rows, {column: FOUND_PREFIX + column for column in own})

    def rows_of(self, scan: Scan) -> Plan:
        """What stands for a scan."""
        rows = Project(self.rows, tuple((name, Ref(FOUND_PREFIX + column)) for name, column in scan.columns))
        if scan.at is self.end:
            return rows
        names = {column: name for name, column in scan.columns}
        # Look-ups may let other rows pass, and nothing must be taken away that isn't there.
        chosen = self._choose_rows(rows, names)
        change = self._choose_rows(Delta(scan.table, scan.columns), names)
        for column, bound in self.bounds:
            name = next(name for name, own in scan.columns if own == column)
            if not self._holds_own_change(column, bound):
                change = keep_keys(change, name, bound.columns, null_safe=bound.null_safe)
            elif not bound.null_safe:
                change = Filter(change, Call("not", (Call("is null", (Ref(name),)),)))
        return Rows(Net(UnionAll((chosen, Negate(change)))))

    def _choose_rows(self, rows: Plan, names: Mapping[str, str]) -> Plan:
        """The rows that meet the conditions; `names`: what the table's columns are called in the plan."""
        conditions = [rename_refs(condition, names) for condition in self.conditions]
        return Filter(rows, all_of(conditions)) if conditions else rows

    def _holds_own_change(self, column: str, bound: Bound) -> bool:
        """Whether all keys of the table's own change are among D, as far as its rows matter."""
        return any(
            changed is not None
            and (changed.table, changed.columns[name]) == (self.table, column)
            and changed.conditions <= frozenset(self.conditions)
            for changed, name in ((as_changed_rows(source), name) for source, name in bound.columns)
        )
