"""A query that is stored in a lake and kept by refreshes: the real parts, without a scheduler."""

from __future__ import annotations

import anabranch as ab
from anabranch.connection.lake_context import LakeContext
from anabranch.names import TableName
from anabranch.refresh.define import Definition, check_plan, define
from anabranch.refresh.execute import run_differential_refresh, run_full_refresh
from anabranch.refresh.verify import Verified, verify
from anabranch.write.row_level_writes import RowCounts
from anabranch.write.working_table import WorkingTable


class Kept:
    """One stored query, at the lsn it reflects."""

    def __init__(self, lake: ab.Lake, name: str, text: str, *, at: int | None = None) -> None:
        self._lake = lake
        self._name = TableName.parse(name)
        context = self._context
        lake_version = context.catalog.lake_version(at)
        self.definition: Definition = define(context, self._name, text, lake_version)
        self.checked = check_plan(context, self.definition, lake_version)
        """Whether the plan's rows could be held against the text's."""
        tables = {
            kept.table: WorkingTable.create(
                context.reader, context.clock.new_id(), kept.table, "source", kept.schema
            )
            for kept in self.definition.stored_tables
        }
        run_full_refresh(context, self.definition, tables, lake_version)
        with lake.transaction() as tx:
            for table in tables.values():
                tx.enter(table)
        self.lsn = lake_version.lsn

    @property
    def _context(self) -> LakeContext:
        return self._lake._context

    @property
    def strategies(self) -> tuple[str, ...]:
        """How each stored table is maintained; the query's own comes last."""
        return tuple(kept.maintained.strategy for kept in self.definition.stored_tables)

    @property
    def computed_anew(self) -> frozenset[TableName]:
        """The sources that every refresh reads in full, because something above them has no keys."""
        anew = [kept for kept in self.definition.stored_tables if kept.maintained.strategy == "recompute"]
        return self.definition.tables & frozenset(table for kept in anew for table in kept.reads)

    def refresh(self, to: int | None = None) -> RowCounts:
        """Bring it to a later lsn, by default the newest, differentially."""
        catalog = self._context.catalog
        since, until = catalog.lake_version(self.lsn), catalog.lake_version(to)
        with self._lake.transaction() as tx:
            tables = {kept.table: tx.working(kept.table) for kept in self.definition.stored_tables}
            counts = run_differential_refresh(self._context, self.definition, tables, since, until)
        self.lsn = until.lsn
        return counts

    def verify(self) -> Verified:
        """Hold what is stored against the query, recomputed over the same sources."""
        catalog = self._context.catalog
        stored = catalog.lake_version().version(self._name)
        return verify(self._context, self.definition, stored, catalog.lake_version(self.lsn))
