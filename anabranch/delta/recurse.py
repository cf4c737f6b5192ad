"""Plans for tables that are made from themselves.

Members X are the least solution of X = Q(X, E): each has a query Q over members and over what is outside of
the recursion, E. Q gains rows as X does (see `algebra.monotone`). Between two refreshes E changes, and

    D    all rows that may rest on what E lost, near or far:  D = T(Q)(D, lost E)  at the old X and E
    X'   = X - D, which rests on nothing that was lost
    X₁   the least solution over the new E, reached from X' by adding rows

Nothing survives by supporting itself: what was over-deleted comes back only if it can be derived again.

    T(Q)(ΔX, ΔE)   the rows with a derivation that uses a row of ΔX or ΔE, all else at one end: `touched`
    Γ(Q)(ΔX)       what Q gains as X grows by ΔX, with exact multiplicities: `gained`

If no row of E was lost, D is empty: then the cost is that of the new derivations. A row that is stored
once however often it is derived (UNION, DISTINCT) needs `touched` alone; it is looked up in what is stored.
Where multiplicities count (UNION ALL), a stored row that gains a derivation goes to D as well, and its number
is found by deriving it again.

The leaves: `Scan` of a member at UNTIL is what has been derived so far, at SINCE what the table held when
this member was derived last. What a member or a part outside has lost or gained comes in as a `Cut`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from anabranch.algebra.monotone import reads_any
from anabranch.algebra.plan import (
    At,
    Columns,
    Cut,
    Distinct,
    Filter,
    Generate,
    Join,
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
from anabranch.algebra.rebuild import rebuild
from anabranch.algebra.scalar import Ref, all_of, same
from anabranch.delta.affected import KEY, restricted
from anabranch.delta.ends import since, until
from anabranch.delta.simplify import drop_empty

BEFORE, STORED = "__b", "__x"
Sign = Literal["lost", "gained", "moved"]
"""Of a part outside: rows that it lost, rows that it gained, both."""


@dataclass(frozen=True)
class Loop:
    """One recursive table: its query, whose columns are stored under `columns`."""

    table: str
    plan: Plan
    columns: tuple[str, ...]

    @property
    def is_set(self) -> bool:
        """Whether a row is stored once, however often it is derived."""
        plan = self.plan
        while isinstance(plan, Project) and _renames(plan):
            plan = plan.input
        return isinstance(plan, Distinct) or (isinstance(plan, SetOp) and not plan.all)

    def rows(self, name: str, *, few: bool = True) -> Cut:
        """Rows of this table that an earlier statement computed."""
        return Cut(name, tuple(zip(self.plan.names, self.columns, strict=True)), False, few)


def _renames(plan: Project) -> bool:
    refs = [scalar.name for _, scalar in plan.items if isinstance(scalar, Ref)]
    return len(refs) == len(plan.items) and set(refs) == set(plan.input.names)


def new(table: str) -> str:
    """The cut that stands for rows of a member that its readers haven't seen."""
    return f"new {table}"


def outer(number: int, sign: Sign) -> str:
    """The cut that stands for what a part outside lost, or gained."""
    return f"{sign} {number}"


def column(place: int) -> str:
    """The name of a column in rows of a part outside."""
    return f"c{place}"


@lru_cache(maxsize=1024)
def outer_parts(plan: Plan, recursive: frozenset[str]) -> tuple[Plan, ...]:
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
    """Where a change comes from: members of which there are new rows, and parts outside of the recursion.

    `cuts` names what is at hand of the parts outside; `sign` is what is asked of them.
    """

    recursive: frozenset[str]
    members: frozenset[str] = frozenset()
    parts: tuple[Plan, ...] = ()
    cuts: frozenset[str] = frozenset()
    sign: Sign = "gained"
    few: bool = True


def touched(plan: Plan, seeds: Seeds, at: At) -> Plan:
    """T(Q): rows of Q with a derivation that uses a row of the seeds, at one end of the interval.

    Each of them is in Q at that end, maybe more than once.
    """
    numbers = {part: number for number, part in enumerate(seeds.parts)}
    whole: Callable[[Plan], Plan] = since if at is At.SINCE else until

    def part_outside(part: Plan, sign: Sign) -> Plan:
        name = outer(numbers[part], sign) if part in numbers else ""
        if name not in seeds.cuts:
            return empty(part.names)
        columns = tuple((shown, column(place)) for place, shown in enumerate(part.names))
        return Cut(name, columns, weighted=False, few=seeds.few)

    def visit(part: Plan) -> Plan:
        if not reads_any(part, seeds.recursive):
            return part_outside(part, seeds.sign)
        match part:
            case Scan(table, columns):
                return _new_rows(table, columns, seeds.members, few=seeds.few)
            case Filter() | Project() | Generate() | Distinct():
                return replace(part, input=visit(part.input))
            case UnionAll(parts):
                return UnionAll(tuple(map(visit, parts)))
            case Join(left, right, "left", on):
                # Of what may be NULL, a row that comes takes one away, and a row that goes brings one.
                moved = Join(whole(left), part_outside(right, "moved"), "semi", on)
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


def changed_rows(loop: Loop, seeds: Seeds, at: At) -> Plan:
    """Which rows of a member's query rest on the seeds, each once."""
    found = touched(loop.plan, seeds, at)
    return drop_empty(found if isinstance(found, Distinct) else Distinct(found))


# -- rows that are at hand, and rows that are stored ----------------------------------------------


def stored(loop: Loop, at: At = At.UNTIL) -> Scan:
    """What a member holds, under names that nothing else has."""
    columns = tuple((f"{STORED}{place}", name) for place, name in enumerate(loop.columns))
    return Scan(loop.table, columns, at)


def stored_among(loop: Loop, rows: Plan) -> Plan:
    """Those of some rows that a member holds, each once."""
    held = Distinct(_held(loop, rows))
    return Project(held, tuple((rows.names[place], Ref(name)) for place, name in enumerate(held.names)))


def missing_among(loop: Loop, rows: Plan) -> Plan:
    """Those of some rows that a member doesn't hold."""
    return _without(rows, Distinct(_held(loop, rows)))


def not_among(rows: Plan, others: Plan) -> Plan:
    """Rows that aren't among others of the same columns."""
    return _without(
        rows, Project(others, tuple((f"{BEFORE}{n}", Ref(name)) for n, name in enumerate(others.names)))
    )


def except_for(loop: Loop, rows: Plan) -> Plan:
    """What a member holds without some rows, all copies of them."""
    return _without(stored(loop), rows)


def replaced(loop: Loop, gone: Plan, added: Plan) -> Plan:
    """The change of a member: the copies it held of some rows go, others come, and some do both."""
    return Net(UnionAll((added, Negate(_held(loop, gone)))))


def _held(loop: Loop, rows: Plan) -> Plan:
    """The stored rows are searched for the others, not the others for them: only the few are moved."""
    mine = stored(loop)
    return restricted(mine, [Ref(name) for name in mine.names], _keys(rows))


def _keys(rows: Plan) -> Plan:
    return Project(rows, tuple((f"{KEY}{place}", Ref(name)) for place, name in enumerate(rows.names)))


def _without(rows: Plan, others: Plan) -> Plan:
    """Rows that aren't among others, which have names of their own."""
    pairs = zip(rows.names, others.names, strict=True)
    return Join(rows, others, "anti", all_of(same(Ref(mine), Ref(theirs)) for mine, theirs in pairs))


def _new_rows(table: str, columns: Columns, at_hand: Collection[str], *, few: bool) -> Plan:
    if table not in at_hand:
        return empty(name for name, _ in columns)
    return Cut(new(table), columns, weighted=False, few=few)


# -- what is derived ------------------------------------------------------------------------------


def from_nothing(loop: Loop, recursive: frozenset[str]) -> Plan:
    """Q(∅, E): what a member holds before any member holds anything."""

    def forget(part: Plan) -> Plan:
        return empty(part.names) if isinstance(part, Scan) and part.table in recursive else part

    return drop_empty(rebuild(until(loop.plan), forget))


def derived_again(loop: Loop, rows: Plan) -> Plan:
    """Which of some rows can be derived from what is there, and how often."""
    return restricted(until(loop.plan), [Ref(name) for name in loop.plan.names], _keys(rows))


def gained(loop: Loop, seeds: Seeds) -> Plan:
    """Γ(Q): what a member gains, copy for copy, as members grow from SINCE to UNTIL by their new rows."""
    recursive = seeds.recursive

    def before(part: Plan) -> Plan:
        def back(leaf: Plan) -> Plan:
            return replace(leaf, at=At.SINCE) if isinstance(leaf, Scan) and leaf.table in recursive else leaf

        return rebuild(until(part), back)

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
                return _not_before(Distinct(visit(source)), before(source))
            case Join(left, right, "inner"):
                return UnionAll(
                    (
                        replace(part, left=visit(left), right=until(right)),
                        replace(part, left=before(left), right=visit(right)),
                    )
                )
            case Join(left, right, "left"):
                return replace(part, left=visit(left), right=until(right))
            case Join(left, right, "semi", on):
                first = Join(Join(before(left), visit(right), "semi", on), before(right), "anti", on)
                return UnionAll((replace(part, left=visit(left), right=until(right)), first))
            case SetOp(left, right, "intersect", False):
                sides = Distinct(UnionAll((visit(left), visit(right))))
                now = SetOp(SetOp(sides, until(left), "intersect"), until(right), "intersect")
                return SetOp(now, SetOp(before(left), before(right), "intersect"), "except")
        raise TypeError(f"{type(part).__name__} may lose rows as its input gains some")

    return drop_empty(visit(loop.plan))


def _not_before(rows: Plan, source: Plan) -> Plan:
    """The rows that an input didn't have before; of it only what may be equal is looked at."""
    return not_among(rows, restricted(source, [Ref(name) for name in source.names], _keys(rows)))


def edges(plan: Plan, recursive: Collection[str]) -> Sequence[str]:
    """The recursive tables that a query reads."""
    return sorted(tables(plan).intersection(recursive))
