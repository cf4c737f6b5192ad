"""Plans for tables that are made from themselves.

Members X are the least solution of X = Q(X, E): each has a query Q over members and over what is outside of
the recursion, E. Q gains rows as X does (see `algebra.monotone`). Between two refreshes E changes, and

    D    all rows that may rest on what E lost, directly or not:  D = T(Q)(D, lost E)  at the old X and E
    X'   = X - D, which rests on nothing that was lost
    X₁   the least solution over the new E, reached from X' by adding rows

Nothing survives by supporting itself: what was over-deleted comes back only if it can be derived again.

    T(Q)(ΔX, ΔE)   the rows with a derivation from a row of ΔX or ΔE, all else at one end: `rows_derived_from`
    Γ(Q)(ΔX)       what Q gains as X grows by ΔX, with exact multiplicities: `semi_naive_gain`

If no row of E was lost, D is empty: then the cost is that of the new derivations. A row that is stored
once however often it is derived (UNION, DISTINCT) needs `rows_derived_from` alone; it is looked up among the
stored rows.
Where multiplicities count (UNION ALL), a stored row that gains a derivation goes to D as well, and its number
is found by deriving it again.

The leaves: `Scan` of a member at UNTIL is what has been derived so far, at SINCE what the table had when
this member was derived last. What a member or a non-recursive subplan has lost or gained is a `Materialised`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from anabranch.algebra.monotone import reads_any
from anabranch.algebra.plan import (
    Columns,
    Distinct,
    Filter,
    Generate,
    IntervalEnd,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Scan,
    SetOp,
    UnionAll,
    empty,
    tables,
)
from anabranch.algebra.scalar import Ref, all_of, null_safe_equal
from anabranch.algebra.transform import transform_up
from anabranch.delta.affected_keys import KEY, restrict_to_keys
from anabranch.delta.interval_ends import at_since, at_until
from anabranch.delta.simplify import drop_empty

BEFORE, STORED = "__b", "__x"
Sign = Literal["lost", "gained", "moved"]
"""Of a non-recursive subplan: rows that it lost, rows that it gained, both."""


@dataclass(frozen=True)
class RecursiveTable:
    """One recursive table: its query, whose columns are stored under `columns`."""

    table: str
    plan: Plan
    columns: tuple[str, ...]

    @property
    def is_set(self) -> bool:
        """Whether a row is stored once, however often it is derived."""
        plan = self.plan
        while isinstance(plan, Project) and _is_rename(plan):
            plan = plan.input
        return isinstance(plan, Distinct) or (isinstance(plan, SetOp) and not plan.all)

    def materialised_rows(self, name: str, *, few: bool = True) -> Materialised:
        """Rows of this table that an earlier statement computed."""
        return Materialised(name, tuple(zip(self.plan.names, self.columns, strict=True)), False, few)


def _is_rename(plan: Project) -> bool:
    refs = [scalar.name for _, scalar in plan.items if isinstance(scalar, Ref)]
    return len(refs) == len(plan.items) and set(refs) == set(plan.input.names)


def new_rows_name(table: str) -> str:
    """The name of the materialised rows of a member that its readers haven't read yet."""
    return f"new {table}"


def outer_change_name(number: int, sign: Sign) -> str:
    """The name of the materialised rows that a non-recursive subplan lost, or gained."""
    return f"{sign} {number}"


def outer_column_name(place: int) -> str:
    """The name of a column in materialised rows of a non-recursive subplan."""
    return f"c{place}"


@lru_cache(maxsize=1024)
def non_recursive_subplans(plan: Plan, recursive: frozenset[str]) -> tuple[Plan, ...]:
    """The largest parts of a query that don't read recursive tables, and read any; each once."""
    found: dict[Plan, None] = {}

    def visit(part: Plan) -> None:
        if reads_any(part, recursive):
            for below in part.inputs:
                visit(below)
        elif tables(part):
            found.setdefault(part)

    visit(plan)
    return tuple(found)


# -- what rests on a change -----------------------------------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """Where a change comes from: members with new rows, and non-recursive subplans (`parts`).

    `cuts` names the materialised changes of the latter; `sign` says which of these are used.
    """

    recursive: frozenset[str]
    members: frozenset[str] = frozenset()
    parts: tuple[Plan, ...] = ()
    cuts: frozenset[str] = frozenset()
    sign: Sign = "gained"
    few: bool = True


def rows_derived_from(plan: Plan, seeds: Seeds, at: IntervalEnd) -> Plan:
    """T(Q): rows of Q with a derivation that uses a row of the seeds, at one end of the interval.

    Each of them is in Q at that end, maybe more than once.
    """
    numbers = {part: number for number, part in enumerate(seeds.parts)}
    whole: Callable[[Plan], Plan] = at_since if at is IntervalEnd.SINCE else at_until

    def outer_change(part: Plan, sign: Sign) -> Plan:
        name = outer_change_name(numbers[part], sign) if part in numbers else ""
        if name not in seeds.cuts:
            return empty(part.names)
        columns = tuple((shown, outer_column_name(place)) for place, shown in enumerate(part.names))
        return Materialised(name, columns, weighted=False, few=seeds.few)

    def visit(part: Plan) -> Plan:
        if not reads_any(part, seeds.recursive):
            return outer_change(part, seeds.sign)
        match part:
            case Scan(table, columns):
                return _new_rows(table, columns, seeds.members, few=seeds.few)
            case Filter() | Project() | Generate() | Distinct():
                return replace(part, input=visit(part.input))
            case UnionAll(parts):
                return UnionAll(tuple(map(visit, parts)))
            case Join(left, right, "left", on):
                # On the nullable side, a gained row removes a NULL-padded row, and a lost row may add one.
                moved = Join(whole(left), outer_change(right, "moved"), "semi", on)
                return UnionAll(
                    (
                        replace(part, left=visit(left), right=whole(right)),
                        replace(part, left=moved, right=whole(right)),
                    )
                )
            case Join(left, right) | SetOp(left, right):
                return UnionAll(
                    (
                        replace(part, left=visit(left), right=whole(right)),
                        replace(part, left=whole(left), right=visit(right)),
                    )
                )
        raise TypeError(f"{type(part).__name__} may lose rows as its input gains some")

    return visit(plan)


def distinct_rows_derived_from(loop: RecursiveTable, seeds: Seeds, at: IntervalEnd) -> Plan:
    """Which rows of a member's query rest on the seeds, each once."""
    found = rows_derived_from(loop.plan, seeds, at)
    return drop_empty(found if isinstance(found, Distinct) else Distinct(found))


# -- materialised rows, and rows that are stored --------------------------------------------------


def scan_stored_rows(loop: RecursiveTable, at: IntervalEnd = IntervalEnd.UNTIL) -> Scan:
    """The stored rows of a member, under names that nothing else has."""
    columns = tuple((f"{STORED}{place}", name) for place, name in enumerate(loop.columns))
    return Scan(loop.table, columns, at)


def rows_in_table(loop: RecursiveTable, rows: Plan) -> Plan:
    """Those of some rows that a member contains, each once."""
    held = Distinct(_matching_stored_rows(loop, rows))
    return Project(held, tuple((rows.names[place], Ref(name)) for place, name in enumerate(held.names)))


def rows_not_in_table(loop: RecursiveTable, rows: Plan) -> Plan:
    """Those of some rows that a member doesn't contain."""
    return _anti_join(rows, Distinct(_matching_stored_rows(loop, rows)))


def rows_not_in(rows: Plan, others: Plan) -> Plan:
    """Rows that aren't among others of the same columns."""
    return _anti_join(
        rows, Project(others, tuple((f"{BEFORE}{n}", Ref(name)) for n, name in enumerate(others.names)))
    )


def table_rows_except(loop: RecursiveTable, rows: Plan) -> Plan:
    """The rows of a member without some rows, all copies of them."""
    return _anti_join(scan_stored_rows(loop), rows)


def replacement_change(loop: RecursiveTable, gone: Plan, added: Plan) -> Plan:
    """The change of a member: its copies of `gone` are deleted, `added` is inserted; rows may be in both."""
    return Net(UnionAll((added, Negate(_matching_stored_rows(loop, gone)))))


def _matching_stored_rows(loop: RecursiveTable, rows: Plan) -> Plan:
    """The stored rows that are among some rows, which are few: only these are sent between tasks."""
    mine = scan_stored_rows(loop)
    return restrict_to_keys(mine, [Ref(name) for name in mine.names], _as_keys(rows))


def _as_keys(rows: Plan) -> Plan:
    return Project(rows, tuple((f"{KEY}{place}", Ref(name)) for place, name in enumerate(rows.names)))


def _anti_join(rows: Plan, others: Plan) -> Plan:
    """Rows that aren't among others, which have names of their own."""
    pairs = zip(rows.names, others.names, strict=True)
    return Join(
        rows, others, "anti", all_of(null_safe_equal(Ref(mine), Ref(theirs)) for mine, theirs in pairs)
    )


def _new_rows(table: str, columns: Columns, at_hand: Collection[str], *, few: bool) -> Plan:
    if table not in at_hand:
        return empty(name for name, _ in columns)
    return Materialised(new_rows_name(table), columns, weighted=False, few=few)


# -- what is derived ------------------------------------------------------------------------------


def initial_rows(loop: RecursiveTable, recursive: frozenset[str]) -> Plan:
    """Q(∅, E): what a member contains while all members are still empty."""

    def empty_recursive_scan(part: Plan) -> Plan:
        return empty(part.names) if isinstance(part, Scan) and part.table in recursive else part

    return drop_empty(transform_up(at_until(loop.plan), empty_recursive_scan))


def rederive_rows(loop: RecursiveTable, rows: Plan) -> Plan:
    """Which of some rows can be derived from what is there, and how often."""
    return restrict_to_keys(at_until(loop.plan), [Ref(name) for name in loop.plan.names], _as_keys(rows))


def semi_naive_gain(loop: RecursiveTable, seeds: Seeds) -> Plan:
    """Γ(Q): what a member gains, copy for copy, as members grow from SINCE to UNTIL by their new rows."""
    recursive = seeds.recursive

    def before(part: Plan) -> Plan:
        def scan_at_since(leaf: Plan) -> Plan:
            return (
                replace(leaf, at=IntervalEnd.SINCE)
                if isinstance(leaf, Scan) and leaf.table in recursive
                else leaf
            )

        return transform_up(at_until(part), scan_at_since)

    def visit(part: Plan) -> Plan:
        if not reads_any(part, recursive):
            return empty(part.names)
        match part:
            case Scan(table, columns):
                return _new_rows(table, columns, seeds.members, few=seeds.few)
            case Filter() | Project() | Generate():
                return replace(part, input=visit(part.input))
            case UnionAll(parts):
                return UnionAll(tuple(map(visit, parts)))
            case Distinct(source):
                return _rows_not_before(Distinct(visit(source)), before(source))
            case Join(left, right, "inner"):
                return UnionAll(
                    (
                        replace(part, left=visit(left), right=at_until(right)),
                        replace(part, left=before(left), right=visit(right)),
                    )
                )
            case Join(left, right, "left"):
                return replace(part, left=visit(left), right=at_until(right))
            case Join(left, right, "semi", on):
                first = Join(Join(before(left), visit(right), "semi", on), before(right), "anti", on)
                return UnionAll((replace(part, left=visit(left), right=at_until(right)), first))
            case SetOp(left, right, "intersect", False):
                sides = Distinct(UnionAll((visit(left), visit(right))))
                now = SetOp(SetOp(sides, at_until(left), "intersect"), at_until(right), "intersect")
                return SetOp(now, SetOp(before(left), before(right), "intersect"), "except")
        raise TypeError(f"{type(part).__name__} may lose rows as its input gains some")

    return drop_empty(visit(loop.plan))


def _rows_not_before(rows: Plan, source: Plan) -> Plan:
    """The rows that an input didn't have before; of the input only rows that may be equal are read."""
    return rows_not_in(rows, restrict_to_keys(source, [Ref(name) for name in source.names], _as_keys(rows)))


def recursive_inputs(plan: Plan, recursive: Collection[str]) -> Sequence[str]:
    """The recursive tables that a query reads."""
    return sorted(tables(plan).intersection(recursive))
