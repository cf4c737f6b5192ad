"""What a refresh reads: tables at both ends of an interval, and what changed in between.

A table is either as committed, or staged: changed by this very refresh, and not yet visible to anybody else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from anabranch.algebra.plan import At, Delta, Scan, Stored
from anabranch.delta.together import Known
from anabranch.engine.base import Frame
from anabranch.here.interpret import Keyed
from anabranch.ledger.records import Moment, Version
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import change_pieces, live_files
from anabranch.schema import Schema, has_floats, has_map
from anabranch.storage.changes import Piece, Signed
from anabranch.storage.deletes import Deleted
from anabranch.storage.files import WEIGHT, FileRef, check_files
from anabranch.storage.live import LiveRows
from anabranch.storage.lookup import Limits, look_up
from anabranch.storage.scan import read_rows
from anabranch.storage.small import HELD_BYTES, net_rows, small_change
from anabranch.storage.values import key_values
from anabranch.write.working import WorkingTable

FEW_BYTES = 32 << 20
"""Parquet bytes of changes that joins may send around."""
ONE_TASK_BYTES = 4 << 20
"""Parquet bytes that one task reads as fast as several do, their own cost counted."""


@dataclass(frozen=True)
class Sources:
    """The tables that a refresh reads, as of two moments."""

    parts: Parts
    since: Moment
    until: Moment
    staged: Mapping[TableName, WorkingTable] = field(default_factory=dict)
    computed: Mapping[TableName, Frame] = field(default_factory=dict)
    """Tables that are stored nowhere."""
    large: set[TableName] = field(default_factory=set)
    """Tables whose change was too much to be held here."""
    _found: dict[TableName, tuple[list[Piece], Schema]] = field(default_factory=dict)

    @cached_property
    def _deleted(self) -> Deleted:
        """The marks in files."""
        return Deleted(self.parts.warehouse, self.parts.columns.marks)

    def changed(self, tables: frozenset[TableName]) -> frozenset[str]:
        """The tables whose rows may differ between the two moments."""
        return frozenset(str(table) for table in tables if self._moved(table))

    def _moved(self, name: TableName) -> bool:
        if (table := self.staged.get(name)) is not None and table.pieces:
            return True
        before, after = self._interval(name)
        return (before.table_id, before.snapshot_id) != (after.table_id, after.snapshot_id)

    def _interval(self, name: TableName) -> tuple[Version, Version]:
        """The committed versions at both ends; what is staged comes on top of the later one."""
        if (table := self.staged.get(name)) is not None:
            return self.since.versions.get(name, table.version), table.version
        return self.since.version(name), self.until.version(name)

    def known(
        self, changed: frozenset[str], read: frozenset[TableName], stored: WorkingTable | None = None
    ) -> Known | None:
        """What is known of the sizes of what a statement reads; None if its changes are too large to send."""
        paths = [piece.path for name in changed for piece in self._pieces(TableName.parse(name))[0]]
        size = sum(self.parts.warehouse.size(path) for path in paths)
        if size > FEW_BYTES:
            return None
        return Known(
            changes=size <= ONE_TASK_BYTES,
            stored=stored is not None and _bytes(stored) <= ONE_TASK_BYTES,
            tables=frozenset(str(name) for name in read if self._size(name) <= ONE_TASK_BYTES),
            exact=frozenset(found for name in changed for found in self._exact(name)),
        )

    def _exact(self, name: str) -> Iterator[tuple[str, str]]:
        """The columns of a table of which one value can be taken from another: no -0.0, no maps."""
        for column in self._pieces(TableName.parse(name))[1]:
            if not has_floats(column.type) and not has_map(column.type):
                yield name, column.name

    def _size(self, name: TableName) -> int:
        """Bytes of a table's files, at the larger of both ends."""
        if (table := self.staged.get(name)) is not None:
            return _bytes(table)
        ends = {version.snapshot_id: version for version in self._interval(name)}
        return max(sum(file.size for file in live_files(self.parts, version)) for version in ends.values())

    @property
    def few_rows(self) -> bool:
        """Whether no change was read that is too much to be held here."""
        return not self.large

    def rows_changed(self, changed: frozenset[str]) -> int:
        """How many weighted rows the changes of these tables are, before any cancel; from footers alone."""
        live = LiveRows(self.parts.warehouse)
        pieces = [piece for name in changed for piece in self._pieces(TableName.parse(name))[0]]
        return sum(live.count(piece) for piece in pieces)

    def rows_differing(self, changed: frozenset[str]) -> int:
        """The same, but what a table that was replaced as a whole has before and after doesn't count.

        As long as it is small enough to be compared here: otherwise every row has gone and come.
        """
        return sum(self._differing(name) for name in changed)

    def _differing(self, name: str) -> int:
        pieces, schema = self._pieces(TableName.parse(name))
        if {"+", "-"} <= {piece.sign for piece in pieces}:
            net = net_rows(self.parts.warehouse, Signed.of(pieces), schema.visible)
            if net is not None:
                return net
        return self.rows_changed(frozenset({name}))

    def frame(self, leaf: Scan | Delta) -> Frame:
        """The rows that a leaf of a plan stands for."""
        name = TableName.parse(leaf.table)
        if name in self.computed:
            return self.computed[name]
        if isinstance(leaf, Delta):
            return self._change(name, leaf)
        return self._scan(*self._files(leaf))

    def _files(self, scan: Scan) -> tuple[Collection[FileRef], Schema]:
        """The files of a table at one end, and what stands in them."""
        name = TableName.parse(scan.table)
        table = self.staged.get(name)
        if table is not None and scan.at is not At.SINCE:
            return table.live().values(), table.schema
        before, after = self._interval(name)
        version = before if scan.at is At.SINCE else after
        return live_files(self.parts, version), version.schema

    def has_many(self, scan: Scan, most: int) -> bool:
        """Whether a table has more rows than `most`, or more than is read here."""
        if TableName.parse(scan.table) in self.computed:
            return True
        files, _ = self._files(scan)
        return sum(file.rows for file in files) > most or sum(file.size for file in files) > ONE_TASK_BYTES

    def rows_of(self, leaf: Scan | Stored, own: WorkingTable) -> int:
        """How many rows a leaf has; `own` is the table that is being refreshed."""
        return sum(file.rows for file in self._kept(leaf, own)[0])

    def arrow(self, leaf: Scan | Delta | Stored, own: WorkingTable) -> Any | None:
        """The rows of a leaf as Arrow data, in its order of columns; None if they can't be read here.

        `own` is the table that is being refreshed. A change has its weights in one more column.
        """
        wanted = [name for _, name in leaf.columns]
        if not wanted:
            return None
        if isinstance(leaf, Delta):
            found = self._small_change(TableName.parse(leaf.table), leaf, HELD_BYTES)
            return None if found is None else found.select([*wanted, WEIGHT])
        files, schema = self._kept(leaf, own)
        check_files(self.parts.warehouse, files)
        return read_rows(self.parts.warehouse, list(files), _narrow(schema, leaf)).select(wanted)

    def looked_up(
        self, leaf: Scan | Stored, keys: Mapping[str, Keyed], own: WorkingTable, most: int
    ) -> Any | None:
        """A leaf's rows that have one of the values in each of some columns; None if it takes too much."""
        wanted = [name for _, name in leaf.columns]
        if not keys or (isinstance(leaf, Scan) and TableName.parse(leaf.table) in self.computed):
            return None
        files, schema = self._kept(leaf, own)
        values = {name: key_values(schema, name, keyed) for name, keyed in keys.items()}
        check_files(self.parts.warehouse, files)
        found = look_up(
            self.parts.warehouse,
            self.parts.columns,
            list(files),
            _narrow(schema, leaf),
            values,
            deleted=self._deleted,
            limits=Limits(rows=most, size=self.parts.lookup_bytes),
        )
        return None if found is None else found.select(wanted)

    def _kept(self, leaf: Scan | Stored, own: WorkingTable) -> tuple[Collection[FileRef], Schema]:
        return self._files(leaf) if isinstance(leaf, Scan) else (own.live().values(), own.schema)

    def count(self, name: TableName) -> int:
        """How many rows a table has at the later moment; nobody has counted those that are stored nowhere."""
        if (table := self.staged.get(name)) is not None:
            return sum(file.rows for file in table.live().values())
        return 0 if name in self.computed else self.until.version(name).rows

    def rows(self, name: TableName) -> Frame:
        """All that people see of a table, as of the later moment."""
        if (table := self.staged.get(name)) is not None:
            return self._scan(table.live().values(), table.schema.visible)
        version = self.until.version(name)
        return self._scan(live_files(self.parts, version), version.schema.visible)

    def stored(self, table: WorkingTable) -> Frame:
        """What a table holds as far as this refresh has got, hidden columns included."""
        return self._scan(table.live().values(), table.schema)

    def _scan(self, files: Iterable[FileRef], schema: Schema) -> Frame:
        ordered = sorted(files, key=lambda file: file.path)
        check_files(self.parts.warehouse, ordered)
        return self.parts.engine.scan(ordered, schema)

    def _change(self, name: TableName, leaf: Delta) -> Frame:
        here = self._small_change(name, leaf)
        if here is not None:
            return self.parts.engine.from_arrow(here)
        self.large.add(name)
        pieces, schema = self._pieces(name)
        signed = Signed.of(pieces)
        return self.parts.engine.change(signed.plus, signed.minus, signed.weighted, _narrow(schema, leaf))

    def _small_change(self, name: TableName, leaf: Delta, most: int | None = None) -> Any | None:
        pieces, schema = self._pieces(name)
        check_files(self.parts.warehouse, pieces)
        return small_change(self.parts.warehouse, Signed.of(pieces), _narrow(schema, leaf), most)

    def _pieces(self, name: TableName) -> tuple[list[Piece], Schema]:
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    def _look(self, name: TableName) -> tuple[list[Piece], Schema]:
        pieces, schema = self._committed(name)
        if (table := self.staged.get(name)) is not None:
            return [*pieces, *table.pieces], table.schema
        return pieces, schema

    def _committed(self, name: TableName) -> tuple[list[Piece], Schema]:
        before, after = self._interval(name)
        if before == after:
            return [], after.schema
        if before.table_id != after.table_id:
            # Another table took the name: all rows of the one go, all of the other come.
            gone = [Piece("-", file.path, file.deletes) for file in live_files(self.parts, before)]
            return gone + change_pieces(self.parts, None, after), after.schema
        return change_pieces(self.parts, before, after), after.schema


def _narrow(schema: Schema, leaf: Scan | Delta | Stored) -> Schema:
    """Only what is read: rows that differ elsewhere cancel, and needn't be computed with."""
    wanted = {own for _, own in leaf.columns}
    return Schema(tuple(column for column in schema if column.name in wanted))


def _bytes(table: WorkingTable) -> int:
    return sum(file.size for file in table.live().values())
