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
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, rename_refs
from anabranch.delta.key_bounds import Bound, SourceColumn
from anabranch.delta.look_ups import as_look_up
from anabranch.delta.row_conditions import changed_column

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
    conditions: tuple[Scalar, ...] = ()
    """What holds, in the table's columns, for all rows that matter: others needn't be fetched."""

    @property
    def rows(self) -> Plan:
        """σ(T ⋉ D), for each of the columns, with all columns that any of the scans reads."""
        own = dict.fromkeys(column for scan in self.scans for _, column in scan.columns)
        rows: Plan = Scan(self.table, tuple((COLUMN + column, column) for column in sorted(own)), self.end)
        for column, bound in self.bounds:
            rows = Join(rows, _key_set(bound), "semi", _same_key(COLUMN + column, bound))
        return self._choose_rows(rows, {column: COLUMN + column for column in own})

    def rows_of(self, scan: Scan) -> Plan:
        """What stands for a scan."""
        rows = Project(self.rows, tuple((name, Ref(COLUMN + column)) for name, column in scan.columns))
        if scan.at is self.end:
            return rows
        change = self._choose_rows(
            Delta(scan.table, scan.columns), {column: name for name, column in scan.columns}
        )
        for column, bound in self.bounds:
            name = next(name for name, own in scan.columns if own == column)
            if not self._holds_own_change(column, bound):
                change = Join(change, _key_set(bound), "semi", _same_key(name, bound))
            elif not bound.null_safe:
                change = Filter(change, Call("not", (Call("is null", (Ref(name),)),)))
        return Rows(Net(UnionAll((rows, Negate(change)))))

    def _choose_rows(self, rows: Plan, names: Mapping[str, str]) -> Plan:
        """The rows that meet the conditions; `names`: what the table's columns are called in the plan."""
        conditions = [rename_refs(condition, names) for condition in self.conditions]
        return Filter(rows, all_of(conditions)) if conditions else rows

    def _holds_own_change(self, column: str, bound: Bound) -> bool:
        """Whether all keys of the table's own change are among D, as far as its rows matter."""
        return any(
            found is not None and found[:2] == (self.table, column) and found[2] <= frozenset(self.conditions)
            for found in (changed_column(source, name) for source, name in bound.columns)
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
    if (changed := changed_column(leaf, name)) is not None:
        return 0, changed[0], changed[1] + plan_text(leaf)
    if (look_up := as_look_up(leaf)) is not None:
        leaf = look_up.scan
    match leaf:
        case Scan(table, columns):
            return 1, table, dict(columns)[name]
        case _:
            # Two steps may have the same columns: what they compute tells them apart, in every process alike.
            return 2, plan_text(leaf), name
