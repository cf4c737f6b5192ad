"""A query that is stored in a lake and kept by refreshes: the real parts, without a scheduler."""

from __future__ import annotations

import anabranch as ab
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.define import Definition, check_plan, define
from anabranch.refresh.run import fill, refresh
from anabranch.refresh.verify import Verified, verify
from anabranch.write.rewrite import RowCounts
from anabranch.write.working import WorkingTable


class Kept:
    """One stored query, at the lsn it reflects."""

    def __init__(self, lake: ab.Lake, name: str, text: str, *, at: int | None = None) -> None:
        self._lake = lake
        self._name = TableName.parse(name)
        parts = self._parts
        moment = parts.catalog.moment(at)
        self.definition: Definition = define(parts, self._name, text, moment)
        self.checked = check_plan(parts, self.definition, moment)
        """Whether the plan's rows could be held against the text's."""
        tables = {
            kept.table: WorkingTable.create(
                parts.reader, parts.clock.new_id(), kept.table, "source", kept.schema
            )
            for kept in self.definition.pieces
        }
        fill(parts, self.definition, tables, moment)
        with lake.transaction() as tx:
            for table in tables.values():
                tx.enter(table)
        self.lsn = moment.lsn

    @property
    def _parts(self) -> Parts:
        return self._lake._parts

    @property
    def strategies(self) -> tuple[str, ...]:
        """How each stored table is maintained; the query's own comes last."""
        return tuple(kept.maintained.strategy for kept in self.definition.pieces)

    @property
    def computed_anew(self) -> frozenset[TableName]:
        """The sources that every refresh reads in full, because something above them has no keys."""
        anew = [kept for kept in self.definition.pieces if kept.maintained.strategy == "recompute"]
        return self.definition.tables & frozenset(table for kept in anew for table in kept.reads)

    def refresh(self, to: int | None = None) -> RowCounts:
        """Bring it to a later lsn, by default the newest, differentially."""
        catalog = self._parts.catalog
        since, until = catalog.moment(self.lsn), catalog.moment(to)
        with self._lake.transaction() as tx:
            tables = {kept.table: tx.working(kept.table) for kept in self.definition.pieces}
            counts = refresh(self._parts, self.definition, tables, since, until)
        self.lsn = until.lsn
        return counts

    def verify(self) -> Verified:
        """Hold what is stored against the query, recomputed over the same sources."""
        catalog = self._parts.catalog
        stored = catalog.moment().version(self._name)
        return verify(self._parts, self.definition, stored, catalog.moment(self.lsn))
