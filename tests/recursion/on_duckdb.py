"""Recursive tables that DuckDB keeps up to date, by the machine of a lake, without a lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from anabranch.algebra.evaluate import ZSet, minus, net
from anabranch.algebra.plan import Delta, IntervalEnd, Scan
from anabranch.delta.recursion import RecursiveTable
from anabranch.delta.single_partition import RelationFacts
from anabranch.names import WEIGHT, TableName
from anabranch.refresh.fixpoint import Fixpoint
from anabranch.refresh.fixpoint_engine import FixpointEngine, Rows
from anabranch.sql.ddl import parse_schema
from tests.engines.duck import DuckEngine, DuckFrame
from tests.recursion.memory import Database

SCHEMA = parse_schema("a BIGINT, b BIGINT")


def frame(rows: ZSet, weight: str | None = None) -> DuckFrame:
    """Rows of two columns; with their weights, or each as often as it is there."""
    listed = [row for row, copies in rows.items() for _ in range(1 if weight else copies)]
    columns: dict[str, Any] = {
        name: pa.array([row[place] for row in listed], pa.int64()) for place, name in enumerate("ab")
    }
    if weight:
        columns[weight] = pa.array(list(rows.values()), pa.int64())
    return DuckFrame(pa.table(columns))


def rows_of(held: DuckFrame) -> ZSet:
    """The rows of a frame, weighted if it says so."""
    columns = [held.arrow.column(name).to_pylist() for name in "ab"]
    weighted = WEIGHT in held.arrow.column_names
    weights = held.arrow.column(WEIGHT).to_pylist() if weighted else [1] * held.arrow.num_rows
    return net(zip(zip(*columns, strict=True), map(int, weights), strict=True))


@dataclass(frozen=True)
class Given:
    """Tables outside of the recursion at both ends of the interval."""

    since: Database
    until: Database
    few_rows: bool = True

    def estimate_sizes(self, changed: frozenset[str], read: frozenset[TableName]) -> RelationFacts:
        return RelationFacts()

    def scan_leaf(self, leaf: Scan | Delta, *, net: bool) -> DuckFrame:
        before, after = self.since[leaf.table], self.until[leaf.table]
        if isinstance(leaf, Delta):
            return frame(minus(after, before), WEIGHT)
        return frame(before if leaf.at is IntervalEnd.SINCE else after)


class KeptOnDuckDB:
    """Recursive tables of two numbers, kept as stream tables are."""

    def __init__(self, loops: Sequence[RecursiveTable], database: Database, bound: int = 60) -> None:
        self._loops, self._bound = loops, bound
        self._engine = DuckEngine()
        self._database = database
        self.contents: dict[str, ZSet] = {loop.table: {} for loop in loops}
        self.last = self._fixpoint(database)
        self.last.solve_from_scratch(few=True)
        self._apply()

    def change(self, until: Database) -> None:
        """The tables outside are these from now on."""
        changed = frozenset(table for table in until if until[table] != self._database[table])
        self.last = self._fixpoint(until)
        old = {
            table: Rows(("a", "b"), lambda rows=rows: frame(rows)) for table, rows in self.contents.items()
        }
        self.last.solve_incrementally(old, changed)
        self._database = until
        self._apply()

    def _fixpoint(self, until: Database) -> Fixpoint[Rows]:
        parts: Any = SimpleNamespace(engine=self._engine)
        sources: Any = Given(self._database, until)
        schemas = {loop.table: SCHEMA for loop in self._loops}
        return Fixpoint(FixpointEngine(parts, sources, schemas, ""), self._loops, self._bound)

    def _apply(self) -> None:
        for loop in self._loops:
            before = self.contents[loop.table]
            change = self.last.change(loop.table)
            moved: Mapping[Any, int] = rows_of(change.frame) if change is not None else {}
            after = net([*before.items(), *moved.items()])
            assert after == rows_of(self.last.contents(loop.table).frame)
            self.contents[loop.table] = after
