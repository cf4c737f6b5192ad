"""Recursive tables that DuckDB keeps up to date, by the machine of a lake, without a lake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.algebra.evaluate import ZSet, minus, net
from anabranch.algebra.plan import Delta, IntervalEnd, Scan, StoredResult
from anabranch.delta.recursion import RecursiveTable
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.local.fixpoint_rows import FixpointRows
from anabranch.engine.local.interpret import Keyed
from anabranch.engine.local.values import key_values
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
    context: Any
    few_rows: bool = True

    def estimate_sizes(self, changed: frozenset[str], read: frozenset[TableName]) -> RelationFacts:
        return RelationFacts()

    def scan_leaf(self, leaf: Scan | Delta, *, net: bool) -> DuckFrame:
        before, after = self.since[leaf.table], self.until[leaf.table]
        if isinstance(leaf, Delta):
            return frame(minus(after, before), WEIGHT)
        return frame(before if leaf.at is IntervalEnd.SINCE else after)

    def scan_stored_rows(self, table: Any) -> DuckFrame:
        return frame(table.rows)

    def count_leaf_rows(self, leaf: Scan | StoredResult, own: Any) -> int:
        return int(self._arrow(leaf, own).num_rows)

    def read_arrow(self, leaf: Scan | Delta | StoredResult, own: Any) -> pa.Table:
        weight = [WEIGHT] if isinstance(leaf, Delta) else []
        return self._arrow(leaf, own).select([name for _, name in leaf.columns] + weight)

    def look_up_rows(
        self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed], own: Any, most: int
    ) -> pa.Table | None:
        found = self._arrow(leaf, own)
        for name, keyed in keys.items():
            found = found.filter(pc.is_in(found.column(name), value_set=key_values(SCHEMA, name, keyed)))
        return found.select([name for _, name in leaf.columns]) if found.num_rows <= most else None

    def _arrow(self, leaf: Scan | Delta | StoredResult, own: Any) -> pa.Table:
        if isinstance(leaf, StoredResult):
            return frame(own.rows).arrow
        return self.scan_leaf(leaf, net=True).arrow


Tables = Mapping[str, Any]
Locally = Callable[[Given, Tables], FixpointRows | None]


def on_the_engine(sources: Given, members: Tables) -> None:
    """Compute nothing in this process."""


class KeptOnDuckDB:
    """Recursive tables of two numbers, kept as stream tables are.

    `locally`: what each change is computed with in this process.
    """

    def __init__(
        self,
        loops: Sequence[RecursiveTable],
        database: Database,
        bound: int = 60,
        locally: Locally = on_the_engine,
    ) -> None:
        self._loops, self._bound, self._locally = loops, bound, locally
        self.engine = DuckEngine()
        self._database = database
        self.contents: dict[str, ZSet] = {loop.table: {} for loop in loops}
        self.last, self._plans = self._fixpoint(database, on_the_engine)
        self.last.solve_from_scratch(few=True)
        self._apply()

    def change(self, until: Database) -> None:
        """The tables outside are these from now on."""
        changed = frozenset(table for table in until if until[table] != self._database[table])
        self.last, self._plans = self._fixpoint(until, self._locally)
        old = {table: self._plans.read_stored(table, stored) for table, stored in self._stored().items()}
        self.last.solve_incrementally(old, changed)
        self._database = until
        self._apply()

    def _stored(self) -> Tables:
        return {table: SimpleNamespace(rows=rows, schema=SCHEMA) for table, rows in self.contents.items()}

    def _fixpoint(self, until: Database, locally: Locally) -> tuple[Fixpoint[Rows], FixpointEngine]:
        parts: Any = SimpleNamespace(engine=self.engine)
        sources: Any = Given(self._database, until, parts)
        schemas = {loop.table: SCHEMA for loop in self._loops}
        plans = FixpointEngine(parts, sources, schemas, "", locally(sources, self._stored()))
        return Fixpoint(plans, self._loops, self._bound), plans

    def _apply(self) -> None:
        for loop in self._loops:
            before = self.contents[loop.table]
            change = self.last.change(loop.table)
            after = net([*before.items(), *self._moved(change).items()])
            assert after == rows_of(self.last.contents(loop.table).frame)
            self.contents[loop.table] = after

    def _moved(self, change: Rows | None) -> Mapping[Any, int]:
        if change is None:
            return {}
        here = self._plans.compute_change(change, SCHEMA)
        return rows_of(change.frame) if here is None else here.net
