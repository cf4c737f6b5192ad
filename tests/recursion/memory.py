"""A machine that runs plans over rows in memory, by the reference evaluator; and what is right, naively."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, minus, net, plus
from anabranch.algebra.plan import Delta, IntervalEnd, Materialised, Plan, Scan, subplans
from anabranch.delta.recursion import RecursiveTable
from anabranch.refresh.fixpoint import Batch, Fixpoint, Leaf

Database = Mapping[str, ZSet]


@dataclass(frozen=True)
class Rows:
    """Rows with the names of their columns."""

    names: tuple[str, ...]
    rows: ZSet


@dataclass
class Memory:
    """Tables outside of the recursion at both ends of the interval; and the rows that plans gave, counted."""

    columns: Mapping[str, tuple[str, ...]]
    since: Database
    until: Database
    members: Mapping[str, tuple[str, ...]]
    computed: int = 0

    def read_source(self, leaf: Scan | Delta) -> Rows:
        names = self.columns[leaf.table]
        if isinstance(leaf, Delta):
            return Rows(names, minus(self.until[leaf.table], self.since[leaf.table]))
        side = self.since if leaf.at is IntervalEnd.SINCE else self.until
        return Rows(names, side[leaf.table])

    def empty_rows(self, table: str) -> Rows:
        return Rows(self.members[table], {})

    def define_view(self, plan: Plan, columns: Sequence[str], bind: Callable[[Leaf], Rows]) -> Rows:
        names: dict[str, tuple[str, ...]] = {}
        sides: dict[IntervalEnd, dict[str, ZSet]] = {IntervalEnd.SINCE: {}, IntervalEnd.UNTIL: {}}
        cuts: dict[str, ZSet] = {}
        cut_columns: dict[str, tuple[str, ...]] = {}
        for leaf in subplans(plan):
            match leaf:
                case Materialised(name):
                    cuts[name], cut_columns[name] = bind(leaf).rows, bind(leaf).names
                case Scan(table, _, at):
                    sides[at][table], names[table] = bind(leaf).rows, bind(leaf).names
                case Delta(table):
                    sides[IntervalEnd.SINCE][table], sides[IntervalEnd.UNTIL][table] = (
                        self.since[table],
                        self.until[table],
                    )
                    names[table] = self.columns[table]
                case _:
                    pass
        tables = Tables(
            names, sides[IntervalEnd.SINCE], sides[IntervalEnd.UNTIL], cuts=cuts, cut_columns=cut_columns
        )
        return Rows(tuple(columns), evaluate(plan, tables))

    def materialise(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        assert all(weight > 0 for weight in rows.rows.values()), "rows that were derived are there"
        count = sum(rows.rows.values())
        self.computed += count
        return Batch(rows, count)

    def split_by_sign(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        came = {row: 1 for row, weight in change.rows.items() if weight > 0}
        went = {row: 1 for row, weight in change.rows.items() if weight < 0}
        return Batch(Rows(change.names, came), len(came)), Batch(Rows(change.names, went), len(went))

    def union_batches(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        rows = plus(*(batch.rows.rows for batch in batches))
        return Batch(Rows(batches[0].rows.names, rows), sum(batch.count for batch in batches))


class Diverges(Exception):
    """More rows, or more rounds, than a test has time for."""


@dataclass
class Kept:
    """Recursive tables that are kept up to date, as stream tables would be."""

    loops: Sequence[RecursiveTable]
    columns: Mapping[str, tuple[str, ...]]
    database: Database
    bound: int = 60

    def __post_init__(self) -> None:
        self.contents: dict[str, ZSet] = {loop.table: {} for loop in self.loops}
        self.last: Fixpoint[Rows] | None = None
        self.machine = self._machine(self.database)
        self.last = Fixpoint(self.machine, self.loops, self.bound)
        self.last.solve_from_scratch()
        self._apply()

    def _machine(self, until: Database) -> Memory:
        members = {loop.table: loop.columns for loop in self.loops}
        return Memory(self.columns, self.database, until, members)

    def _apply(self) -> None:
        assert self.last is not None
        for loop in self.loops:
            change = self.last.change(loop.table)
            after = (
                plus(self.contents[loop.table], change.rows)
                if change is not None
                else self.contents[loop.table]
            )
            assert after == self.last.contents(loop.table).rows
            self.contents[loop.table] = after

    def change(self, until: Database) -> None:
        """The tables outside are these from now on."""
        self.machine = self._machine(until)
        changed = frozenset(table for table in until if until[table] != self.database[table])
        self.last = Fixpoint(self.machine, self.loops, self.bound)
        old = {loop.table: Rows(loop.columns, self.contents[loop.table]) for loop in self.loops}
        self.last.solve_incrementally(old, changed)
        self.database = until
        self._apply()


def least(
    loops: Sequence[RecursiveTable],
    columns: Mapping[str, tuple[str, ...]],
    database: Database,
    *,
    rounds: int = 60,
    rows: int = 3_000,
) -> dict[str, ZSet]:
    """The least solution as it is defined: from nothing, everything again and again."""
    names = {**columns, **{loop.table: loop.columns for loop in loops}}
    found: dict[str, ZSet] = {loop.table: {} for loop in loops}
    for _ in range(rounds):
        tables = Tables(names, {**database, **found}, {**database, **found})
        after = {loop.table: evaluate(loop.plan, tables) for loop in loops}
        if after == found:
            return found
        if sum(sum(each.values()) for each in after.values()) > rows:
            break
        found = after
    raise Diverges


def zset(*rows: tuple[Any, ...]) -> dict[tuple[Any, ...], int]:
    """Rows, each as often as it stands there."""
    return net((row, 1) for row in rows)
