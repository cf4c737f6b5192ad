"""A machine that runs plans over rows in memory, by the reference evaluator; and what is right, naively."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, minus, net, plus
from anabranch.algebra.plan import At, Cut, Delta, Plan, Scan, subplans
from anabranch.delta.recurse import Loop
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

    def source(self, leaf: Scan | Delta) -> Rows:
        names = self.columns[leaf.table]
        if isinstance(leaf, Delta):
            return Rows(names, minus(self.until[leaf.table], self.since[leaf.table]))
        side = self.since if leaf.at is At.SINCE else self.until
        return Rows(names, side[leaf.table])

    def nothing(self, table: str) -> Rows:
        return Rows(self.members[table], {})

    def view(self, plan: Plan, columns: Sequence[str], bind: Callable[[Leaf], Rows]) -> Rows:
        names: dict[str, tuple[str, ...]] = {}
        sides: dict[At, dict[str, ZSet]] = {At.SINCE: {}, At.UNTIL: {}}
        cuts: dict[str, ZSet] = {}
        cut_columns: dict[str, tuple[str, ...]] = {}
        for leaf in subplans(plan):
            match leaf:
                case Cut(name):
                    cuts[name], cut_columns[name] = bind(leaf).rows, bind(leaf).names
                case Scan(table, _, at):
                    sides[at][table], names[table] = bind(leaf).rows, bind(leaf).names
                case Delta(table):
                    sides[At.SINCE][table], sides[At.UNTIL][table] = self.since[table], self.until[table]
                    names[table] = self.columns[table]
                case _:
                    pass
        tables = Tables(names, sides[At.SINCE], sides[At.UNTIL], cuts=cuts, cut_columns=cut_columns)
        return Rows(tuple(columns), evaluate(plan, tables))

    def keep(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        assert all(weight > 0 for weight in rows.rows.values()), "rows that were derived are there"
        count = sum(rows.rows.values())
        self.computed += count
        return Batch(rows, count)

    def signed(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        came = {row: 1 for row, weight in change.rows.items() if weight > 0}
        went = {row: 1 for row, weight in change.rows.items() if weight < 0}
        return Batch(Rows(change.names, came), len(came)), Batch(Rows(change.names, went), len(went))

    def united(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        rows = plus(*(batch.rows.rows for batch in batches))
        return Batch(Rows(batches[0].rows.names, rows), sum(batch.count for batch in batches))


class Diverges(Exception):
    """More rows, or more rounds, than a test has time for."""


@dataclass
class Kept:
    """Recursive tables that are kept up to date, as stream tables would be."""

    loops: Sequence[Loop]
    columns: Mapping[str, tuple[str, ...]]
    database: Database
    bound: int = 60

    def __post_init__(self) -> None:
        self.contents: dict[str, ZSet] = {loop.table: {} for loop in self.loops}
        self.last: Fixpoint[Rows] | None = None
        self.machine = self._machine(self.database)
        self.last = Fixpoint(self.machine, self.loops, self.bound)
        self.last.from_nothing()
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
        self.last.follow(old, changed)
        self.database = until
        self._apply()


def least(
    loops: Sequence[Loop],
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
