"""Several changes to several tables under one lsn.

A transaction begins at one lake version, stages files as its verbs run, and becomes visible in one group
commit. Its verbs and reads see what it wrote before. On an exception nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from anabranch.commit.group_commit import Committed, Conflict, Entry, Fenced, GroupCommit, Outcome, Unknown
from anabranch.connection.lake_context import LakeContext
from anabranch.connection.scan_files import scan_files
from anabranch.engine.base import Frame
from anabranch.errors import (
    AnabranchError,
    CatalogUnavailable,
    CommitError,
    FencedOff,
    InputError,
    NameTaken,
    NotWritable,
    TransactionOver,
    UnknownColumn,
    UnknownTable,
    UnsupportedStatement,
    UnsupportedType,
    WriteConflict,
)
from anabranch.events import Event
from anabranch.iceberg.input_rows import input_column_names, make_rereadable, rows_to_arrow
from anabranch.iceberg.parquet_files import write_rows
from anabranch.ledger.database import Connection
from anabranch.names import TableName
from anabranch.schema import Array, Map, Schema, Struct
from anabranch.sql.parse_statement import (
    CreateTable,
    Delete,
    DropTable,
    Insert,
    Merge,
    Select,
    Statement,
    Truncate,
    Update,
    parse_statement,
)
from anabranch.sql.query import Query
from anabranch.sql.row_changes import delete_changes, merge_changes, statement_changes, update_changes
from anabranch.sql.stream_statement import SPELLED, GateSources, UngateSources
from anabranch.streams.versions import LakeVersion
from anabranch.write.immediate_updates import ImmediateUpdates
from anabranch.write.readiness_changes import NothingToDo, ReadinessChanges
from anabranch.write.row_level_writes import RowCounts, append_frame, apply_row_changes, compact_files
from anabranch.write.schema_argument import parse_schema_argument
from anabranch.write.source_verbs import SourceVerbs
from anabranch.write.upsert import scan_match_candidates
from anabranch.write.working_table import WorkingTable

MAX_ATTEMPT_LENGTH = 128
COMMIT_TRIES = 10
"""How often a commit is tried again after a conflict or a lost answer."""


class Transaction(SourceVerbs):
    """Use as a context manager; `lsn` is set once it is committed."""

    def __init__(
        self, context: LakeContext, *, attempt: str | None = None, lake_version: LakeVersion | None = None
    ) -> None:
        self._context = context
        self._kind = "write"
        self._lake_version = lake_version or context.catalog.lake_version()
        self._tables: dict[TableName, WorkingTable] = {}
        self._replaced: list[WorkingTable] = []
        """Tables that this transaction dropped and whose name another one took."""
        self._entries: list[Entry] = []
        self._saying = ReadinessChanges()
        self._over = False
        self._attempt = check_attempt(attempt) or context.clock.new_id()
        self.lsn: int | None = None

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()

    # -- tables -------------------------------------------------------------------------------

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Create an empty table from a DDL string, a Spark or an Arrow schema."""
        self._check_open()
        table = TableName.parse(name)
        declared = parse_schema_argument(schema)
        if self._exists(table):
            if if_not_exists:
                return
            raise NameTaken(f'the name "{table}" is taken')
        if (dropped := self._tables.get(table)) is not None and dropped.new is None:
            self._replaced.append(dropped)
        self._tables[table] = WorkingTable.create(
            self._context.reader, self._context.clock.new_id(), table, "source", declared
        )

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table; earlier versions stay readable as long as they are kept."""
        self._check_open()
        table = TableName.parse(name)
        if if_exists and not self._exists(table):
            return
        self._get_writable_table(table, "dropped by drop_stream_table").dropped = True
        self._saying.forget_watermarks(table)

    # -- verbs --------------------------------------------------------------------------------

    def insert(self, name: str, rows: Any) -> RowCounts:
        """Add rows: a list of dicts or tuples, Arrow, pandas, or a Spark DataFrame."""
        table = self._get_writable_table(name)
        if self._context.engine.is_own_frame(rows):
            return self._insert_frame(
                table, self._context.engine.conform(rows, table.schema, str(table.name))
            )
        zone = self._context.settings["time_zone"]
        arrow = rows_to_arrow(rows, table.schema, zone=zone, table=str(table.name))
        self._context.failpoints.hit("write.before_stage")
        folder = f"{table.folder}/data"
        files = write_rows(self._context.warehouse, arrow, table.layout, folder, self._context.clock.new_id())
        table.append(files)
        self._notify_staged(table)
        return RowCounts(inserted=arrow.num_rows)

    def insert_query(self, name: str, query: Query, columns: Sequence[str] | None = None) -> RowCounts:
        """Add the rows of a query, by position."""
        table = self._get_writable_table(name)
        if columns is not None:
            columns = _resolve_columns(table.schema, columns, str(table.name))
        conformed = self._context.engine.conform(
            self._run_query(query), table.schema, str(table.name), columns=columns or table.schema.names
        )
        return self._insert_frame(table, conformed)

    def _insert_frame(self, table: WorkingTable, frame: Frame) -> RowCounts:
        self._context.failpoints.hit("write.before_stage")
        counts = append_frame(self._context, table, frame)
        self._notify_staged(table)
        return counts

    def update(self, name: str, assignments: Mapping[str, str], where: str | None = None) -> RowCounts:
        """Set columns to SQL expressions, in the rows where a condition holds."""
        table = self._get_writable_table(name)
        return self._apply_row_changes(table, update_changes(table.name, table.schema, assignments, where))

    def delete(self, name: str, where: str | None = None) -> RowCounts:
        """Remove the rows where a condition holds (all rows without one)."""
        table = self._get_writable_table(name)
        if where is None:
            return self.truncate(name)
        return self._apply_row_changes(table, delete_changes(table.name, table.schema, where))

    def merge(self, name: str, rows: Any, on: Sequence[str], delete_when: str | None = None) -> RowCounts:
        """Upsert: rows that match on the keys replace what is there, others are added.

        Where `delete_when` holds for an incoming row (which may have columns of its own for that),
        the matching row is removed instead.
        """
        table = self._get_writable_table(name)
        keys = _check_keys(table.schema, on, str(table.name))
        engine = self._context.engine
        if not engine.is_own_frame(rows):
            rows = make_rereadable(rows)
        columns = tuple(rows.columns) if engine.is_own_frame(rows) else input_column_names(rows, table.schema)
        query = merge_changes(table.name, table.schema, columns, keys, delete_when)
        self._check_tables(query)
        if not engine.is_own_frame(rows):
            zone = self._context.settings["time_zone"]
            arrow = rows_to_arrow(rows, table.schema, zone=zone, table=str(table.name), incoming=True)
            if not arrow.num_rows:
                return RowCounts()
            rows = engine.from_arrow(arrow)
            target = scan_match_candidates(self._context, table, arrow, rows, keys)
            return self._apply_row_changes(table, query, source=rows, target=target, keys=keys)
        return self._apply_row_changes(table, query, source=rows, keys=keys)

    def sql(self, text: str) -> Any:
        """Run a statement: a SELECT returns a frame, a change its row counts."""
        return self.run_statement(parse_statement(text))

    def run_statement(self, statement: Statement) -> Any:
        """Run a statement that was parsed already."""
        self._check_open()
        match statement:
            case Select(query):
                return self._run_query(query)
            case CreateTable(name, schema, query, if_not_exists):
                return self._create_from_statement(name, schema, query, if_not_exists)
            case DropTable(name, if_exists):
                return self.drop_table(str(name), if_exists=if_exists)
            case Insert(name, columns, query):
                return self.insert_query(str(name), query, columns)
            case Truncate(name):
                return self.truncate(str(name))
            case Update(name) | Delete(name) | Merge(name):
                table = self._get_writable_table(name)
                return self._apply_row_changes(table, statement_changes(statement, table.schema))
            case GateSources(names):
                return self.gate_sources([str(name) for name in names])
            case UngateSources(names):
                return self.ungate_sources([str(name) for name in names])
            case _:
                raise UnsupportedStatement(
                    f"{SPELLED[type(statement)]} can't be part of a transaction",
                    hint="run it with lake.sql.",
                )

    def _create_from_statement(
        self, name: TableName, schema: Schema | None, query: Query | None, if_not_exists: bool
    ) -> RowCounts:
        if if_not_exists and self._exists(name):
            return RowCounts()
        if schema is None and query is not None:
            schema = self._context.engine.schema_of(self._run_query(query))
        before, replaced = self._tables.get(name), list(self._replaced)
        self.create_table(str(name), schema)
        if query is None:
            return RowCounts()
        try:
            return self.insert_query(str(name), query)
        except AnabranchError:
            # A statement that failed did nothing, should the transaction go on.
            self._context.warehouse.delete_folder(self._tables.pop(name).folder)
            self._replaced = replaced
            if before is not None:
                self._tables[name] = before
            raise

    def truncate(self, name: str) -> RowCounts:
        """Remove all rows. Needs no Spark."""
        table = self._get_writable_table(name)
        removed = table.clear()
        self._notify_staged(table)
        return RowCounts(deleted=removed)

    def compact(self, name: str) -> None:
        """Rewrite a table's small files into few; its rows stay the same."""
        self._kind = "compact"
        compact_files(self._context, self._get_table(name))
        self._context.failpoints.hit("compact.before_commit")

    def _apply_row_changes(
        self,
        table: WorkingTable,
        query: Query,
        *,
        source: Frame | None = None,
        target: Frame | None = None,
        keys: tuple[str, ...] = (),
    ) -> RowCounts:
        """`target`: the table's rows with file and position, if not all of them are needed."""
        self._context.failpoints.hit("write.before_stage")
        self._check_tables(query)
        relations = {"target": self._scan_table(table, positions=True) if target is None else target}
        if source is not None:
            relations["source"] = source
        counts = apply_row_changes(self._context, table, self._run_query(query, relations), keys=keys)
        self._notify_staged(table)
        return counts

    # -- reading what was written -------------------------------------------------------------

    def table(self, name: str) -> Frame:
        """A table's rows, with what this transaction did to them."""
        return self._scan_table(self._get_table(name))

    def _run_query(self, query: Query, relations: Mapping[str, Frame] | None = None) -> Frame:
        bound = dict(relations or {})
        for placeholder, table in query.tables:
            bound[placeholder] = self._scan_table(self._get_table(table))
        return self._context.engine.run_query(query.template, bound)

    def _check_tables(self, query: Query) -> None:
        """Refuse a query over unknown tables before Spark is needed."""
        for _, table in query.tables:
            self._get_table(table)

    def _scan_table(self, table: WorkingTable, *, positions: bool = False) -> Frame:
        files = [file for _, file in sorted(table.live_files().items())]
        return scan_files(self._context, files, table.schema, positions=positions)

    # -- other verbs --------------------------------------------------------------------------

    def working(self, name: str | TableName) -> WorkingTable:
        """A table as this transaction sees it, to be edited by verbs of other modules."""
        return self._get_table(name)

    def enter(self, table: WorkingTable) -> None:
        """Add a table that another module made."""
        self._check_open()
        if self._exists(table.name):
            raise NameTaken(f'the name "{table.name}" is taken')
        self._tables[table.name] = table

    # -- the end ------------------------------------------------------------------------------

    def commit(self) -> int | None:
        """Make everything visible at once; the lsn, or None if there was nothing to do."""
        self._check_open()
        self._over = True
        tables = self._modified_tables()
        if not tables and not self._entries and not self._saying:
            return None
        try:
            return self._commit_with_retries(tables)
        except NothingToDo:
            return None

    def _commit_with_retries(self, tables: Sequence[WorkingTable]) -> int:
        self._context.failpoints.hit("commit.before_metadata")
        outcome: Outcome
        commit: GroupCommit | None = None
        try:
            commit = self._stage_commit(tables)
            self._context.failpoints.hit("commit.after_metadata")
            outcome = self._context.catalog.commit_group(commit)
        except _Overtaken:
            outcome = Conflict(None)
        for _ in range(COMMIT_TRIES):
            if isinstance(outcome, Committed):
                break
            outcome = self._retry_commit(outcome, commit, tables)
        if not isinstance(outcome, Committed):
            raise _commit_error(outcome)
        return self._finish_commit(outcome.lsn, tables)

    def _retry_commit(
        self,
        outcome: Conflict | Fenced | Unknown,
        commit: GroupCommit | None,
        tables: Sequence[WorkingTable],
    ) -> Outcome:
        catalog = self._context.catalog
        match outcome:
            case Conflict(name):
                retried = () if name is None else (str(name),)
                self._context.observer(Event("write_retried", tables=retried))
                # Commits of other clients must have their lsn before this one takes the lock.
                catalog.lake_version()
                return catalog.commit_under_lock(self._attempt, lambda c: self._rebase_commit(c, tables))
            case Fenced():
                raise _commit_error(outcome)
            case Unknown():
                if (settled := catalog.settle(outcome)) is not None:
                    return settled
                self._context.clock.sleep(0.05)
                if commit is None:
                    return catalog.commit_under_lock(self._attempt, lambda c: self._rebase_commit(c, tables))
                return catalog.commit_group(commit)

    def commit_within(self, connection: Connection) -> GroupCommit:
        """Stage the commit for a caller that already holds the writers' lock."""
        self._check_open()
        self._over = True
        return self._stage_commit(self._modified_tables())

    def rollback(self) -> None:
        """Forget everything. Files already written are swept later."""
        self._over = True
        self._tables.clear()
        self._saying = ReadinessChanges()

    def _modified_tables(self) -> list[WorkingTable]:
        """The tables to commit; one that gives up its name comes before the one that takes it."""
        return [table for table in (*self._replaced, *self._tables.values()) if table.is_modified]

    def _stage_commit(self, tables: Sequence[WorkingTable]) -> GroupCommit:
        new_id = self._context.clock.new_id
        followed = self._stage_immediate_updates(tables)
        moved = (*tables, *followed.tables)
        steps = [step for table in moved for step in table.stage(self._attempt, new_id())]
        alone = bool(self._saying) and not steps and not self._entries
        return GroupCommit(
            self._attempt,
            "gate" if alone else self._kind,
            tuple(steps),
            (*self._entries, *self._readiness_entries(alone), *followed.entries),
            checks=followed.checks,
        )

    def _readiness_entries(self, alone: bool) -> tuple[Entry, ...]:
        if not self._saying:
            return ()
        clock = self._context.clock
        return (lambda connection, lsn: self._saying.write_to_ledger(connection, lsn, clock, alone=alone),)

    def _stage_immediate_updates(self, tables: Sequence[WorkingTable]) -> ImmediateUpdates:
        """Refresh the immediate stream tables that read what was written."""
        if self._context.follow is None or self._kind != "write":
            return ImmediateUpdates()
        try:
            followed: ImmediateUpdates = self._context.follow(self._lake_version, tables)
        except WriteConflict as conflict:
            raise _Overtaken from conflict
        return followed

    def _rebase_commit(self, connection: Connection, tables: Sequence[WorkingTable]) -> GroupCommit:
        """The same commit on top of what others committed meanwhile. The caller holds the writers' lock."""
        lake_version = self._lake_version = self._context.catalog.lake_version_in_transaction(
            connection, None
        )
        given_up = {table.name for table in self._replaced}
        for table in tables:
            if (error := lake_version.refused.get(table.name)) is not None:
                raise error
            head, base = lake_version.versions.get(table.name), table.version
            if table.new is not None:
                if head is not None and table.name not in given_up:
                    raise _conflict_error(table.name)
                continue
            if head is None or head.table_id != base.table_id or head.schema != base.schema:
                raise _conflict_error(table.name)
            if head.metadata_location != base.metadata_location:
                # Expiry rewrites metadata; the rows are the same, and any edit can follow.
                if head.lsn != base.lsn and (table.dropped or not table.appends_only):
                    raise _conflict_error(table.name)
                table.rebase(head)
        return self._stage_commit(tables)

    def _finish_commit(self, lsn: int, tables: Sequence[WorkingTable]) -> int:
        self.lsn = lsn
        names = tuple(str(table.name) for table in tables)
        self._context.observer(Event("write_committed", tables=names, detail={"lsn": lsn}))
        return lsn

    def _notify_staged(self, table: WorkingTable) -> None:
        self._context.failpoints.hit("write.after_stage")
        self._context.observer(Event("write_staged", tables=(str(table.name),)))

    # -- finding tables -----------------------------------------------------------------------

    def _exists(self, name: TableName) -> bool:
        if (known := self._tables.get(name)) is not None:
            return not known.dropped
        return name in self._lake_version.versions

    def _get_table(self, name: str | TableName) -> WorkingTable:
        self._check_open()
        table = TableName.parse(name)
        known = self._tables.get(table)
        if known is None:
            known = self._tables[table] = WorkingTable(
                self._lake_version.version(table), self._context.reader
            )
        if known.dropped:
            raise UnknownTable(f'"{table}" was dropped in this transaction')
        return known

    def _get_writable_table(
        self, name: str | TableName, instead: str = "written by its refreshes"
    ) -> WorkingTable:
        """A table that people may change."""
        table = self._get_table(name)
        if table.version.kind in ("stream", "state"):
            raise NotWritable(f'"{table.name}" is a stream table: it is {instead} alone')
        return table

    def _check_open(self) -> None:
        if self._over:
            raise TransactionOver("this transaction is over", hint="begin another one.")


class _Overtaken(Exception):
    """An immediate table or its input was read too early: another writer has changed it since."""


def _commit_error(outcome: Conflict | Fenced | Unknown) -> CommitError:
    match outcome:
        case Conflict(name):
            return _conflict_error(name)
        case Fenced(fence):
            return FencedOff(f"the lease {fence.lease} has passed to another holder")
        case Unknown(_, why):
            return CatalogUnavailable(
                "the catalog database takes no commits", detail=f"{why}; nothing of it happened."
            )


def _conflict_error(name: TableName | None) -> WriteConflict:
    what = "what moves with this write" if name is None else f'"{name}"'
    return WriteConflict(
        f"another writer changed {what} meanwhile",
        detail="nothing of this transaction happened.",
        hint="run it again.",
    )


def check_attempt(attempt: str | None) -> str | None:
    """The name of an attempt, if it can be one."""
    if attempt is None:
        return None
    if (
        not isinstance(attempt, str)
        or not attempt.isprintable()
        or not 0 < len(attempt) <= MAX_ATTEMPT_LENGTH
    ):
        raise InputError(f"an attempt is named by 1 to {MAX_ATTEMPT_LENGTH} printable characters")
    return attempt


def _check_keys(schema: Schema, on: Sequence[str], table: str) -> tuple[str, ...]:
    if isinstance(on, str) or not isinstance(on, Iterable) or not on:
        raise InputError(f'merging into "{table}" needs a list of key columns', hint='for example on=["id"].')
    keys = _resolve_columns(schema, on, table)
    for column in schema:
        if column.name in keys and isinstance(column.type, Array | Map | Struct):
            raise UnsupportedType(f'"{table}.{column.name}" {column.type} can\'t be a key')
    return keys


def _resolve_columns(schema: Schema, names: Iterable[str], table: str) -> tuple[str, ...]:
    """Columns by name, as the table spells them."""
    found: list[str] = []
    for name in names:
        column = schema.find(name) if isinstance(name, str) else None
        if column is None:
            raise UnknownColumn(f'"{table}" has no column {ascii(name)[:60]}')
        if column.name in found:
            raise InputError(f'the column "{column.name}" is named twice')
        found.append(column.name)
    return tuple(found)
