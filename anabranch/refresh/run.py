"""One stream table, from one moment of its sources to a later one.

`fill` computes everything, `differentiate` only what changed. Both edit a working table; making it visible
is the commit's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from anabranch.algebra.plan import At, Delta, Scan, is_empty
from anabranch.delta.root import Maintained
from anabranch.delta.simplify import simplify
from anabranch.engine.base import Frame
from anabranch.ledger.records import Moment, Version
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import change_pieces, frame_of
from anabranch.refresh.bind import bound
from anabranch.refresh.define import Definition, contents
from anabranch.render.dialect import SPARK
from anabranch.render.statement import Rendered, render
from anabranch.schema import Schema
from anabranch.storage.files import check_files, written_files
from anabranch.write.merge import apply_change
from anabranch.write.rewrite import RowCounts, write_frame
from anabranch.write.working import WorkingTable


@dataclass(frozen=True)
class Interval:
    """What a refresh covers: the sources as of two moments."""

    since: Moment
    until: Moment

    def changed(self, tables: frozenset[TableName]) -> frozenset[TableName]:
        """The tables whose rows may differ between the two."""
        return frozenset(table for table in tables if self._moved(table))

    def _moved(self, table: TableName) -> bool:
        before, after = self.since.version(table), self.until.version(table)
        return (before.table_id, before.snapshot_id) != (after.table_id, after.snapshot_id)


def fill(parts: Parts, definition: Definition, table: WorkingTable, moment: Moment) -> RowCounts:
    """Replace everything stored by the query's result at a moment."""
    frame = contents(parts, definition, moment)
    deleted = table.clear()
    conformed = parts.engine.conform(frame, table.schema, str(table.name), by_position=True)
    folder = f"{table.folder}/data/{parts.clock.new_id()}"
    write_frame(parts, conformed, folder, table)
    files = written_files(parts.warehouse, folder, table.layout)
    table.append(files)
    return RowCounts(inserted=sum(file.rows for file in files), deleted=deleted)


def refresh(parts: Parts, definition: Definition, table: WorkingTable, interval: Interval) -> RowCounts:
    """Apply what the sources' changes make of the stored rows."""
    changed = interval.changed(definition.tables)
    statement = change_statement(definition.maintained, frozenset(str(name) for name in changed))
    if statement is None:
        return RowCounts()
    frames = bound(
        statement,
        leaf=lambda leaf: _leaf(parts, leaf, interval),
        stored=lambda: _stored(parts, table),
    )
    return apply_change(parts, table, parts.engine.query(statement.template, frames))


@lru_cache(maxsize=1024)
def change_statement(kept: Maintained, changed: frozenset[str]) -> Rendered | None:
    """The statement that computes a change, given which tables changed; None if nothing can have."""
    plan = simplify(kept.change, changed=changed)
    return None if is_empty(plan) or not changed else render(plan, SPARK, kept.columns)


def _leaf(parts: Parts, leaf: Scan | Delta, interval: Interval) -> Frame:
    name = TableName.parse(leaf.table)
    if isinstance(leaf, Scan):
        moment = interval.since if leaf.at is At.SINCE else interval.until
        return frame_of(parts, moment.version(name))
    return _change(parts, leaf, interval.since.version(name), interval.until.version(name))


def _change(parts: Parts, leaf: Delta, before: Version, after: Version) -> Frame:
    pieces = change_pieces(parts, before, after)
    check_files(parts.warehouse, dict.fromkeys((piece.path for piece in pieces), None))
    by_sign = {sign: [piece.path for piece in pieces if piece.sign == sign] for sign in "+-~"}
    # Only what is read: rows that differ elsewhere cancel, and needn't be computed with.
    wanted = {name for _, name in leaf.columns}
    schema = Schema(tuple(column for column in after.schema if column.name in wanted))
    return parts.engine.change(by_sign["+"], by_sign["-"], by_sign["~"], schema)


def _stored(parts: Parts, table: WorkingTable) -> Frame:
    files = {path: file.size for path, file in sorted(table.live().items())}
    check_files(parts.warehouse, files)
    return parts.engine.scan(list(files), table.schema)
