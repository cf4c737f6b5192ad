"""Each large table is read once, reduced to the rows that anything in a change plan can ask for.

A change plan joins the same table with many small things, at both ends of the interval. Each of these joins
finds its rows by keys, and whatever the keys went through, most of them come from a column of a change. So
there is one set of keys D that no join goes beyond, known before anything is joined:

    T₁ becomes T₁ ⋉ D,  read once for all of them
    T₀ becomes (T₁ ⋉ D) - (ΔT ⋉ D),  not read at all

D may hold more keys than a join asks for: the join itself stays. Tables that hang on a reduced table in the
same way are reduced after it. Where rows are looked up (`look_ups.py`), a table that is read a single time is
reduced as well, and by every column whose keys are known.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

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
    subplans,
)
from anabranch.algebra.scalar import Call, Ref
from anabranch.algebra.transform import map_inputs
from anabranch.delta.key_bounds import Bound, KeyBounds, SourceColumn, demands
from anabranch.delta.look_ups import choose_look_ups
from anabranch.delta.single_partition import RelationFacts

KEY, COLUMN = "__d", "__r_"
MAX_ROUNDS = 8
"""Tables that hang on one another are reduced one after the other, so many times at most."""


def reduce_tables(plan: Plan, known: RelationFacts) -> Plan:
    """The plan with every large table read once, where keys bound what is read of it.

    Law: evaluate(reduce_tables(plan)) = evaluate(plan).
    """
    looked_up: set[Plan] = choose_look_ups(plan, known.lookups)
    reduced: frozenset[Plan] = frozenset(part for part in looked_up if isinstance(part, Join))
    for _ in range(MAX_ROUNDS):
        reductions = _choose_reductions(plan, known, reduced)
        if not reductions:
            break
        plan = _replace_scans(plan, reductions)
        reduced |= {reduction.rows for reduction in reductions}
    return plan


@dataclass(frozen=True)
class _Reduction:
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


def _source_order(column: SourceColumn) -> tuple[bool, str, str]:
    leaf, name = column
    while isinstance(leaf, Join):
        leaf = leaf.left
    assert isinstance(leaf, Delta | Scan), "bounds are columns of changes and of reduced tables"
    return isinstance(leaf, Scan), leaf.table, dict(leaf.columns)[name]


def _choose_reductions(plan: Plan, known: RelationFacts, reduced: frozenset[Plan]) -> list[_Reduction]:
    """The tables that are read more than once, or looked up, by columns with known keys; each once."""
    bounds = KeyBounds(plan, reduced)
    asked = demands(plan, bounds)
    uses = Counter(below for part in subplans(plan) for below in part.inputs)
    inside = {below for rows in reduced for below in subplans(rows)}
    groups: dict[tuple[str, IntervalEnd | None], list[Scan]] = {}
    for part in subplans(plan):
        if isinstance(part, Scan) and part.table not in known.tables and part not in inside:
            end = None if _can_subtract(part, known) else part.at
            groups.setdefault((part.table, end), []).append(part)
    found: list[_Reduction] = []
    for (table, end), scans in groups.items():
        reduction = _choose_columns(table, end, scans, asked, uses, looked_up=table in known.lookups)
        if reduction is not None:
            found.append(reduction)
    return found


def _choose_columns(
    table: str,
    end: IntervalEnd | None,
    scans: Iterable[Scan],
    asked: Mapping[Plan, Mapping[str, Bound]],
    uses: Mapping[Plan, int],
    *,
    looked_up: bool,
) -> _Reduction | None:
    """The column by which most reads of a table are bounded, if those are several.

    Where rows are looked up, one read is enough, and all columns by which the same reads are bounded serve.
    """
    by_column: dict[str, list[tuple[Scan, Bound]]] = {}
    for scan in scans:
        for name, bound in asked[scan].items():
            by_column.setdefault(dict(scan.columns)[name], []).append((scan, bound))
    best = max(by_column.items(), key=lambda item: (_count_reads(item[1], uses), item[0]), default=None)
    if best is None or _count_reads(best[1], uses) < (1 if looked_up else 2):
        return None
    column, members = best
    chosen = tuple(scan for scan, _ in members)
    columns = [column]
    if looked_up:
        columns += sorted(
            other
            for other, found in by_column.items()
            if other != column and {scan for scan, _ in found} >= set(chosen)
        )
    bounds = tuple((name, _union_of_bounds(by_column[name], chosen)) for name in columns)
    ends = {scan.at for scan in chosen}
    at = end or (IntervalEnd.UNTIL if IntervalEnd.UNTIL in ends else IntervalEnd.SINCE)
    return _Reduction(table, bounds, chosen, at)


def _union_of_bounds(members: Iterable[tuple[Scan, Bound]], scans: Collection[Scan]) -> Bound:
    found = [bound for scan, bound in members if scan in scans]
    return reduce(operator.or_, found)


def _count_reads(members: Iterable[tuple[Scan, Bound]], uses: Mapping[Plan, int]) -> int:
    return sum(uses[scan] for scan, _ in members)


def _can_subtract(scan: Scan, known: RelationFacts) -> bool:
    """Whether rows of the table can be taken away from one another: equal values are the same."""
    return all((scan.table, column) in known.exact for _, column in scan.columns)


def _replace_scans(plan: Plan, reductions: Iterable[_Reduction]) -> Plan:
    replaced: dict[Plan, Plan] = {scan: one.rows_of(scan) for one in reductions for scan in one.scans}
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = replaced[part] if part in replaced else map_inputs(part, visit)
            done[part] = found
        return found

    return visit(plan)
