"""What a refresh reads: tables at both ends of an interval, and what changed in between.

A table is either as committed, or staged: changed by this very refresh, and not yet visible to anybody else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from anabranch.algebra.plan import Delta, IntervalEnd, Scan, StoredResult
from anabranch.algebra.scalar import Scalar
from anabranch.connection.lake_context import LakeContext
from anabranch.connection.scan_files import scan_files
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Frame
from anabranch.engine.local.interpret import Keyed
from anabranch.engine.local.lookup import Limits, look_up
from anabranch.engine.local.values import key_values
from anabranch.engine.row_plans import net_changes
from anabranch.errors import Damaged
from anabranch.iceberg.change_files import ChangeFile, SignedFiles, may_cancel
from anabranch.iceberg.column_values import MOST_FILES, count_possible_values
from anabranch.iceberg.parquet_files import FileRef, check_files, count_column_bytes, read_footer
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.read_rows import read_rows
from anabranch.iceberg.small_changes import (
    HELD_BYTES,
    count_net_rows,
    read_changed_columns,
    read_changed_rows,
    read_small_change,
)
from anabranch.names import WEIGHT, TableName
from anabranch.read.scan_tables import list_change_files, list_live_files
from anabranch.refresh.estimate_work import RelationSize
from anabranch.schema import Atomic, Decimal, Schema, has_floats, has_map
from anabranch.streams.versions import STATE, LakeVersion, TableVersion
from anabranch.write.working_table import WorkingTable

FEW_BYTES = 32 << 20
"""Parquet bytes of changes that joins may broadcast."""
ONE_TASK_BYTES = 4 << 20
"""Parquet bytes that one task reads as fast as several do, their own cost counted."""
ONE_TASK_ROWS = 400_000
"""Changed rows that one task computes with as fast as several do."""


@dataclass(frozen=True)
class Sources:
    """The tables that a refresh reads, as of two lake versions."""

    context: LakeContext
    since: LakeVersion
    until: LakeVersion
    staged: Mapping[TableName, WorkingTable] = field(default_factory=dict)
    computed: Mapping[TableName, Frame] = field(default_factory=dict)
    """Tables that aren't stored, as frames."""
    large: set[TableName] = field(default_factory=set)
    """Tables whose change was too large for memory."""
    _found: dict[TableName, tuple[list[ChangeFile], Schema]] = field(default_factory=dict)

    @cached_property
    def _position_deletes(self) -> DeletedPositions:
        """The position deletes of data files."""
        return DeletedPositions(self.context.warehouse, self.context.columns.marks)

    def changed_tables(self, tables: frozenset[TableName]) -> frozenset[str]:
        """The tables whose rows may differ between the two lake versions."""
        return frozenset(str(table) for table in tables if self._has_changed(table))

    def _has_changed(self, name: TableName) -> bool:
        if (table := self.staged.get(name)) is not None and table.change_files:
            return True
        before, after = self._interval(name)
        return (before.table_id, before.snapshot_id) != (after.table_id, after.snapshot_id)

    def _interval(self, name: TableName) -> tuple[TableVersion, TableVersion]:
        """The committed versions at both ends; what is staged comes on top of the later one."""
        if (table := self.staged.get(name)) is not None:
            return self.since.versions.get(name, table.version), table.version
        return self.since.version(name), self.until.version(name)

    def estimate_sizes(
        self,
        changed: frozenset[str],
        read: frozenset[TableName],
        stored: WorkingTable | None = None,
        columns: Mapping[str, Collection[str]] | None = None,
    ) -> RelationFacts:
        """The known sizes of a statement's inputs; `columns`: those that it reads of each table."""
        size, rows = self._size_of_changes(changed, columns)
        return RelationFacts(
            few=size <= FEW_BYTES,
            changes=size <= ONE_TASK_BYTES and rows <= ONE_TASK_ROWS,
            stored=stored is not None and _table_bytes(stored) <= ONE_TASK_BYTES,
            tables=frozenset(str(name) for name in read if self._size(name) <= ONE_TASK_BYTES),
            exact=frozenset(found for name in changed for found in self._exact_columns(name)),
        )

    def _size_of_changes(
        self, changed: frozenset[str], columns: Mapping[str, Collection[str]] | None
    ) -> tuple[int, int]:
        """Bytes and rows of changes: of the columns that are read, or of whole files."""
        size, rows = 0, 0
        for name in changed:
            for file in self._change_files(TableName.parse(name))[0]:
                footer = self._footer(file.path)
                rows += footer.num_rows
                if columns is None:
                    size += self.context.warehouse.read_size(file.path)
                else:
                    size += count_column_bytes(footer, columns.get(name, ()))
        return size, rows

    def _exact_columns(self, name: str) -> Iterator[tuple[str, str]]:
        """The columns whose equal values are interchangeable: no floats (-0.0), no maps."""
        for column in self._change_files(TableName.parse(name))[1]:
            if not has_floats(column.type) and not has_map(column.type):
                yield name, column.name

    def measure_table(self, name: TableName) -> RelationSize:
        """The size of a table at the later lake version, from metadata and footers."""
        if (table := self.staged.get(name)) is not None:
            files, schema = tuple(table.live_files().values()), table.schema
        else:
            version = self.until.version(name)
            files, schema = list_live_files(self.context, version), version.schema
        return RelationSize(
            sum(file.rows for file in files),
            sum(file.size for file in files),
            len(schema.names),
            count_possible_values(self._read_footers(files), schema),
        )

    def _read_footers(self, files: Collection[FileRef]) -> list[Any]:
        """The footers of data files; none if they are many, or one can't be read."""
        if len(files) > MOST_FILES:
            return []
        try:
            return [self._footer(file.path) for file in files]
        except Damaged:
            return []  # whoever needs the file says so

    def measure_change(self, name: TableName) -> RelationSize:
        """The size of a table's change, from footers alone; rows that cancel count."""
        files, schema = self._change_files(name)
        size = sum(self.context.warehouse.read_size(file.path) for file in files)
        return RelationSize(self.count_changed_rows(frozenset({str(name)})), size, len(schema.names))

    def _size(self, name: TableName) -> int:
        """Bytes of a table's files, at the larger of both ends."""
        if (table := self.staged.get(name)) is not None:
            return _table_bytes(table)
        ends = {version.snapshot_id: version for version in self._interval(name)}
        return max(
            sum(file.size for file in list_live_files(self.context, version)) for version in ends.values()
        )

    @property
    def few_rows(self) -> bool:
        """Whether every change that was read fits into memory."""
        return not self.large

    def count_changed_rows(self, changed: frozenset[str]) -> int:
        """How many weighted rows the changes of these tables have before any cancel; from footers alone."""
        files = [file for name in changed for file in self._change_files(TableName.parse(name))[0]]
        deleted = self._position_deletes
        return sum(self._footer(file.path).num_rows - len(deleted.read_positions(file)) for file in files)

    def _footer(self, path: str) -> Any:
        warehouse = self.context.warehouse
        return self.context.columns.footer(path, lambda: read_footer(warehouse, path))

    def has_few_state_changes(self, table: str, most: int) -> bool:
        """Whether a table is hidden state that this very refresh has changed, by few rows."""
        staged = self.staged.get(TableName.parse(table))
        if staged is None or staged.version.kind != STATE:
            return False
        return self.count_changed_rows(frozenset({table})) <= most

    def count_net_changed_rows(self, changed: frozenset[str]) -> int:
        """The same without rows that cancel, as where a table was replaced by mostly the same rows.

        Tables too large to be compared in this process count every deleted and every inserted row.
        """
        return sum(self._count_net_changes(name) for name in changed)

    def _count_net_changes(self, name: str) -> int:
        files, schema = self._change_files(TableName.parse(name))
        if {"+", "-"} <= {file.sign for file in files}:
            net = count_net_rows(self.context.warehouse, SignedFiles.from_change_files(files), schema.visible)
            if net is not None:
                return net
        return self.count_changed_rows(frozenset({name}))

    def scan_leaf(self, leaf: Scan | Delta, *, net: bool = False) -> Frame:
        """The rows that a leaf of a plan stands for; `net`: equal rows of a change are added up."""
        name = TableName.parse(leaf.table)
        if name in self.computed:
            return self.computed[name]
        if isinstance(leaf, Delta):
            return self._scan_change(name, leaf, net=net)
        return self._scan(*self._files(leaf), leaf.at.name)

    def _files(self, scan: Scan) -> tuple[Collection[FileRef], Schema]:
        """The files of a table at one end of the interval, and their schema."""
        name = TableName.parse(scan.table)
        table = self.staged.get(name)
        if table is not None and scan.at is not IntervalEnd.SINCE:
            return table.live_files().values(), table.schema
        before, after = self._interval(name)
        version = before if scan.at is IntervalEnd.SINCE else after
        return list_live_files(self.context, version), version.schema

    def has_many(self, scan: Scan, most: int) -> bool:
        """Whether a table has more rows than `most`, or more bytes than are read in this process."""
        if TableName.parse(scan.table) in self.computed:
            return True
        files, _ = self._files(scan)
        return sum(file.rows for file in files) > most or sum(file.size for file in files) > ONE_TASK_BYTES

    def count_leaf_rows(self, leaf: Scan | StoredResult, own: WorkingTable) -> int:
        """How many rows a leaf has; `own` is the table that is being refreshed."""
        return sum(file.rows for file in self._files_of_leaf(leaf, own)[0])

    def read_arrow(self, leaf: Scan | Delta | StoredResult, own: WorkingTable) -> Any | None:
        """The rows of a leaf as Arrow data, in its order of columns; None if they can't be read locally.

        `own` is the table that is being refreshed. A change has its weights in one more column.
        """
        wanted = [name for _, name in leaf.columns]
        if not wanted:
            return None
        if isinstance(leaf, Delta):
            found = self._read_small_change(TableName.parse(leaf.table), leaf, HELD_BYTES)
            return None if found is None else found.select([*wanted, WEIGHT])
        files, schema = self._files_of_leaf(leaf, own)
        check_files(self.context.warehouse, files)
        return read_rows(self.context.warehouse, list(files), _narrow_schema(schema, leaf)).select(wanted)

    def look_up_rows(
        self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed], own: WorkingTable, most: int
    ) -> Any | None:
        """The rows of a leaf with one of the values in every key column; None if that reads too much."""
        wanted = [name for _, name in leaf.columns]
        if not keys or (isinstance(leaf, Scan) and TableName.parse(leaf.table) in self.computed):
            return None
        files, schema = self._files_of_leaf(leaf, own)
        values = {name: key_values(schema, name, keyed) for name, keyed in keys.items()}
        found = self._look_up(files, _narrow_schema(schema, leaf), values, most)
        return None if found is None else found.select(wanted)

    def look_up_values(
        self, scan: Scan, keys: Mapping[str, Any], most: int, conditions: Collection[Scalar] = ()
    ) -> Any | None:
        """The same for a table and values in Arrow arrays, in the order of the scan's columns.

        Rows that fail some of the conditions, which are about columns of the table, may be left out.
        """
        files, schema = self._files(scan)
        found = self._look_up(files, _narrow_schema(schema, scan), keys, most, conditions)
        return None if found is None else found.select([name for _, name in scan.columns])

    def _look_up(
        self,
        files: Collection[FileRef],
        schema: Schema,
        values: Mapping[str, Any],
        most: int,
        conditions: Collection[Scalar] = (),
    ) -> Any | None:
        check_files(self.context.warehouse, files)
        return look_up(
            self.context.warehouse,
            self.context.columns,
            list(files),
            schema,
            values,
            deleted=self._position_deletes,
            limits=Limits(rows=most, size=self.context.lookup_bytes),
            conditions=conditions,
        )

    def read_changed_columns(self, table: str, columns: Collection[str]) -> Any:
        """Some columns of a table's changed rows, as Arrow data; rows that cancel count, too."""
        files, schema = self._change_files(TableName.parse(table))
        check_files(self.context.warehouse, files)
        narrow = Schema(tuple(each for each in schema if each.name in columns))
        return read_changed_columns(self.context.warehouse, SignedFiles.from_change_files(files), narrow)

    def read_changed_rows(self, table: str, columns: Collection[str]) -> Any:
        """The same rows with their weights; equal ones are added up where rows may cancel."""
        files, schema = self._change_files(TableName.parse(table))
        check_files(self.context.warehouse, files)
        narrow = Schema(tuple(each for each in schema if each.name in columns))
        signed = SignedFiles.from_change_files(files)
        return read_changed_rows(self.context.warehouse, signed, narrow, net=may_cancel(files))

    def tables_to_look_up(self, read: frozenset[TableName], known: RelationFacts) -> frozenset[str]:
        """The tables whose rows are looked up before the engine is asked: large ones, for small changes."""
        if not known.few or not self.context.lookup_bytes:
            return frozenset()
        return frozenset(
            str(name)
            for name in read
            if str(name) not in known.tables and name not in self.computed and self._is_plain(name)
        )

    def tables_to_read(
        self, read: frozenset[TableName], known: RelationFacts, changed: frozenset[str]
    ) -> frozenset[str]:
        """The tables of which whole columns can be read before the engine is asked: small ones, and those
        with no more rows than have changed."""
        most = self.count_changed_rows(changed)
        return frozenset(
            str(name)
            for name in read
            if (str(name) in known.tables or self.count_rows(name) <= most)
            and name not in self.computed
            and self._is_plain(name)
        )

    def _is_plain(self, name: TableName) -> bool:
        """Whether all columns of a table have types that a round trip through Arrow keeps."""
        table = self.staged.get(name)
        schema = self.until.version(name).schema if table is None else table.schema
        return all(isinstance(column.type, Atomic | Decimal) for column in schema)

    def _files_of_leaf(
        self, leaf: Scan | StoredResult, own: WorkingTable
    ) -> tuple[Collection[FileRef], Schema]:
        return self._files(leaf) if isinstance(leaf, Scan) else (own.live_files().values(), own.schema)

    def count_rows(self, name: TableName) -> int:
        """How many rows a table has at the later lake version; 0 for one that isn't stored."""
        if (table := self.staged.get(name)) is not None:
            return sum(file.rows for file in table.live_files().values())
        return 0 if name in self.computed else self.until.version(name).rows

    def scan_visible_rows(self, name: TableName, keep_as: str | None = None) -> Frame:
        """The visible rows of a table, as of the later lake version; `keep_as`: see `Engine.scan`."""
        if (table := self.staged.get(name)) is not None:
            return self._scan(table.live_files().values(), table.schema.visible, keep_as)
        version = self.until.version(name)
        return self._scan(list_live_files(self.context, version), version.schema.visible, keep_as)

    def scan_stored_rows(self, table: WorkingTable) -> Frame:
        """The rows of a table as this refresh has changed it so far, hidden columns included."""
        return self._scan(table.live_files().values(), table.schema, "STORED")

    def _scan(self, files: Iterable[FileRef], schema: Schema, keep_as: str | None) -> Frame:
        in_order = sorted(files, key=lambda file: file.path)
        return scan_files(self.context, in_order, schema, keep_as=keep_as)

    def _scan_change(self, name: TableName, leaf: Delta, *, net: bool) -> Frame:
        here = self._read_small_change(name, leaf)
        if here is not None:
            return self.context.engine.from_arrow(here)
        self.large.add(name)
        files, schema = self._change_files(name)
        signed = SignedFiles.from_change_files(files)
        narrow = _narrow_schema(schema, leaf)
        rows = self.context.engine.scan_changes(signed.plus, signed.minus, signed.weighted, narrow)
        if (signed.minus or signed.weighted) and (net or may_cancel(files)):
            return net_changes(self.context.engine, rows, narrow)
        return rows

    def _read_small_change(self, name: TableName, leaf: Delta, most: int | None = None) -> Any | None:
        files, schema = self._change_files(name)
        check_files(self.context.warehouse, files)
        return read_small_change(
            self.context.warehouse, SignedFiles.from_change_files(files), _narrow_schema(schema, leaf), most
        )

    def _change_files(self, name: TableName) -> tuple[list[ChangeFile], Schema]:
        if name not in self._found:
            self._found[name] = self._list_change_files(name)
        return self._found[name]

    def _list_change_files(self, name: TableName) -> tuple[list[ChangeFile], Schema]:
        files, schema = self._list_committed_changes(name)
        if (table := self.staged.get(name)) is not None:
            return [*files, *table.change_files], table.schema
        return files, schema

    def _list_committed_changes(self, name: TableName) -> tuple[list[ChangeFile], Schema]:
        before, after = self._interval(name)
        if before == after:
            return [], after.schema
        if before.table_id != after.table_id:
            # Another table took the name: all rows of the old one are deleted, all of the new one inserted.
            gone = [
                ChangeFile("-", file.path, file.deletes) for file in list_live_files(self.context, before)
            ]
            return gone + list_change_files(self.context, None, after), after.schema
        return list_change_files(self.context, before, after), after.schema


def _narrow_schema(schema: Schema, leaf: Scan | Delta | StoredResult) -> Schema:
    """Only the columns that are read: rows that differ in others cancel early."""
    wanted = {own for _, own in leaf.columns}
    return Schema(tuple(column for column in schema if column.name in wanted))


def _table_bytes(table: WorkingTable) -> int:
    return sum(file.size for file in table.live_files().values())
