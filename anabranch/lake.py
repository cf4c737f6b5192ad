"""The lake: the one object people work with. Thin: every method calls the module that does the work."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anabranch import lazy as operations
from anabranch.clock import Clock
from anabranch.connection.lake_context import LakeContext
from anabranch.connection.open_lake import check_argument, open_lake_context
from anabranch.errors import InputError
from anabranch.events import Observer, ignore_event
from anabranch.failpoints import Failpoints
from anabranch.inspect.status import StreamTableStatus, read_status
from anabranch.lazy import lazy, value_if_created
from anabranch.ledger import ledger
from anabranch.ledger.records import Commit
from anabranch.listing import Listing
from anabranch.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch.inspect.cycles import CycleStatus
    from anabranch.inspect.definition import StreamTableInfo
    from anabranch.inspect.dependency_tree import DependencyTree
    from anabranch.inspect.explain import StreamTableExplanation
    from anabranch.inspect.explain_query import Explanation
    from anabranch.inspect.fuses import FuseStatus
    from anabranch.inspect.gates import SourceGate, SourceWatermark, WatermarkGroupInfo
    from anabranch.inspect.graph_data import LakeGraph
    from anabranch.inspect.groups import DiamondGroupMember, RefreshGroupInfo
    from anabranch.inspect.health import Check
    from anabranch.inspect.history import RefreshRecord
    from anabranch.inspect.leading_scheduler import SchedulerInfo
    from anabranch.inspect.settings import SettingInfo
    from anabranch.inspect.sources import SourceInfo
    from anabranch.ledger.pulse import Pulse
    from anabranch.maintain.maintenance import Upkeep
    from anabranch.read.iceberg_table import IcebergTable
    from anabranch.read.preview import Preview
    from anabranch.read.snapshot import Snapshot
    from anabranch.read.table_info import TableInfo
    from anabranch.refresh.verify import Verified
    from anabranch.schedule.tick import TickReport
    from anabranch.write.autocommit import Written
    from anabranch.write.transaction import Transaction
MAX_COMMITS_LISTED = 1_000_000


def connect(
    location: str | Path,
    *,
    catalog: str | None = None,
    spark: SparkSession | None = None,
    spark_options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    observer: Observer | None = None,
    failpoints: Failpoints | None = None,
    **settings: object,
) -> Lake:
    """Open the lake at `location`, or create it there.

    `catalog` is the address of its database, by default a SQLite file inside the location. Spark
    starts when it is first needed, with `spark_options` on top of its own, unless a session is given.
    """
    return Lake(
        open_lake_context(
            location,
            catalog=catalog,
            spark=spark,
            spark_options=spark_options,
            clock=clock,
            observer=observer,
            failpoints=failpoints,
            arguments=settings,
        )
    )


class Lake:
    """A warehouse location plus one catalog database. Made by `connect`."""

    def __init__(self, context: LakeContext) -> None:
        definitions = lazy(lambda: operations.DefinitionCache(context))
        self._definitions = definitions
        self._context = replace(
            context,
            follow=lambda version, tables: operations.stage_immediate_tables(definitions, version, tables),
        )
        """Writes maintain immediate stream tables; refreshes, which use the context given, don't."""

    # -- tables -------------------------------------------------------------------------------

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Create an empty table from a DDL string, a Spark or an Arrow schema."""
        operations.autocommit(
            self._context, lambda tx: tx.create_table(name, schema, if_not_exists=if_not_exists)
        )

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table; earlier versions stay readable as long as they are kept."""
        groups = operations.find_watermark_groups_needing(self._context, name)
        operations.autocommit(self._context, lambda tx: tx.drop_table(name, if_exists=if_exists))
        operations.warn_of_readers(self._context, name)
        operations.warn_of_removed_watermark_groups(groups)

    def tables(self) -> list[TableInfo]:
        """Every table, by name."""
        return operations.list_tables(self._context.catalog.lake_version())

    # -- writing ------------------------------------------------------------------------------

    def insert(self, name: str, rows: Any, *, attempt: str | None = None) -> Written:
        """Add rows: a list of dicts or tuples, Arrow, pandas, or a Spark DataFrame."""
        rows = operations.make_rereadable(rows)
        return operations.autocommit(self._context, lambda tx: tx.insert(name, rows), attempt=attempt)

    def update(
        self,
        name: str,
        assignments: Mapping[str, str],
        where: str | None = None,
        *,
        attempt: str | None = None,
    ) -> Written:
        """Set columns to SQL expressions, in the rows where a condition holds."""
        return operations.autocommit(
            self._context, lambda tx: tx.update(name, assignments, where), attempt=attempt
        )

    def delete(self, name: str, where: str | None = None, *, attempt: str | None = None) -> Written:
        """Remove the rows where a condition holds (all rows without one)."""
        return operations.autocommit(self._context, lambda tx: tx.delete(name, where), attempt=attempt)

    def merge(
        self,
        name: str,
        rows: Any,
        on: Sequence[str],
        delete_when: str | None = None,
        *,
        attempt: str | None = None,
    ) -> Written:
        """Upsert: rows that match on the keys replace what is there, others are added."""
        rows = operations.make_rereadable(rows)
        return operations.autocommit(
            self._context, lambda tx: tx.merge(name, rows, on, delete_when), attempt=attempt
        )

    def truncate(self, name: str, *, attempt: str | None = None) -> Written:
        """Remove all rows."""
        return operations.autocommit(self._context, lambda tx: tx.truncate(name), attempt=attempt)

    def transaction(self, *, attempt: str | None = None) -> Transaction:
        """Several changes to several tables under one lsn; on an exception nothing happened.

        A transaction whose `attempt` was already committed is found, not repeated.
        """
        return operations.begin_transaction(self._context, attempt)

    def committed(self, attempt: str) -> int | None:
        """The lsn under which an attempt was committed, or None if it wasn't."""
        return operations.find_committed_lsn(self._context, attempt)

    # -- whether sources are ready ------------------------------------------------------------

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Say that a source is not ready: what is made from it waits until it is ungated.

        With `auto_ungate_on_watermark` the first `advance_watermark` does that.
        """
        operations.autocommit(self._context, lambda tx: tx.gate_source(name, auto_ungate_on_watermark))

    def gate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        operations.autocommit(self._context, lambda tx: tx.gate_sources(names))

    def ungate_source(self, name: str) -> None:
        """Say that a source is ready. In a transaction, that is seen when its rows are."""
        operations.autocommit(self._context, lambda tx: tx.ungate_source(name))

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        operations.autocommit(self._context, lambda tx: tx.ungate_sources(names))

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Say up to which time a source is loaded; never less than it was."""
        operations.autocommit(self._context, lambda tx: tx.advance_watermark(source, timestamp))

    def create_watermark_group(
        self,
        name: str,
        sources: Sequence[str],
        tolerance: str | timedelta = "0s",
        missing: str = "gated",
    ) -> None:
        """Declare sources that are read together only while their watermarks are within a tolerance."""
        operations.create_watermark_group(self._context, name, sources, tolerance, missing)

    def drop_watermark_group(self, name: str) -> None:
        """Drop a watermark group; what reads its sources no longer waits for it."""
        operations.drop_watermark_group(self._context, name)

    # -- stream tables ------------------------------------------------------------------------

    def create_stream_table(
        self,
        name: str,
        query: str,
        *,
        schedule: str | None = "calculated",
        refresh_mode: str = "auto",
        initialize: bool = True,
        diamond_consistency: str | None = None,
        diamond_schedule_policy: str | None = None,
        bootstrap_gating: str = "respect",
        fuse: str = "off",
        fuse_ceiling: int | None = None,
        fuse_sensitivity: int = 1,
    ) -> None:
        """Store a query's result, and keep it fresh as what it reads changes."""
        definition = {
            "name": name,
            "query": query,
            "schedule": schedule,
            "refresh_mode": refresh_mode,
            "initialize": initialize,
            "diamond_consistency": diamond_consistency,
            "diamond_schedule_policy": diamond_schedule_policy,
            "bootstrap_gating": bootstrap_gating,
            "fuse": fuse,
            "fuse_ceiling": fuse_ceiling,
            "fuse_sensitivity": fuse_sensitivity,
        }
        operations.create_stream_tables(self._definitions, [definition])

    def create_stream_tables(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Several at once, all or nothing, which may read each other."""
        operations.create_stream_tables(self._definitions, definitions)

    def alter_stream_table(self, name: str, **changes: Any) -> None:
        """Set options, or another `query`; the old contents stay until the new ones are there."""
        operations.alter_stream_table(self._definitions, name, changes)

    def drop_stream_table(self, name: str, *, cascade: bool = False) -> None:
        """Drop a stream table, and with `cascade` all that reads it."""
        operations.drop_stream_table(self._context, name, cascade=cascade)

    def suspend_stream_table(self, name: str) -> None:
        """Refresh it no more until it is resumed; what is there stays readable."""
        operations.suspend_stream_table(self._context, name)

    def resume_stream_table(self, name: str) -> None:
        """Refresh it again, whatever the reason was that it wasn't."""
        operations.resume_stream_table(self._context, name)

    def reset_fuse(self, name: str, action: str) -> None:
        """Arm a blown fuse again. What it stopped is let through once (`apply`), makes way for a fill from
        nothing (`reinitialize`), or is passed over (`skip_changes`).
        """
        operations.reset_fuse(self._definitions, name, action)

    def refresh_stream_table(self, name: str, *, full: bool = False, upstream: bool = True) -> RefreshRecord:
        """Refresh it, what is stale upstream first; what was done."""
        operations.refresh_stream_table(self._definitions, name, full=full, upstream=upstream)
        return operations.read_refresh_history(self._context, name, 1)[0]

    def create_refresh_group(
        self,
        name: str,
        members: Sequence[str],
        isolation: str = "read_committed",
        snapshot_timeout_ms: int = 0,
    ) -> None:
        """Declare stream tables that need share nothing, and are to be published together."""
        operations.create_refresh_group(self._context, name, members, isolation, snapshot_timeout_ms)

    def drop_refresh_group(self, name: str) -> None:
        """Let the members of a declared group move on their own again."""
        operations.drop_refresh_group(self._context, name)

    def tick(self, *, observer: Observer | None = None) -> TickReport:
        """One pass of the scheduler: refresh what is due."""
        check_argument("observer", observer, "__call__")
        lease = operations.Lease(self._context)
        try:
            return operations.tick(self._definitions, lease, observer=observer or ignore_event)
        finally:
            lease.release()

    def run(self, *, observer: Observer | None = None, stop: threading.Event | None = None) -> None:
        """Tick until `stop` is set, or SIGTERM or SIGINT comes; sleeps while nothing is due or changes."""
        check_argument("observer", observer, "__call__")
        check_argument("stop", stop, "is_set", "wait", "set")
        operations.run(self._definitions, observer=observer or ignore_event, stop=stop)

    # -- reading ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the lake's folder is called."""
        return self._context.warehouse.uri.rsplit("/", 2)[-2]

    @property
    def clock(self) -> Clock:
        """Where the lake's time and identities come from."""
        return self._context.clock

    @property
    def lsn(self) -> int:
        """The number of the newest commit."""
        return self._context.catalog.lake_version().lsn

    @property
    def statements_run(self) -> int:
        """How many statements Spark has run for this lake, since it was connected to."""
        return self._context.engine.statements

    def table(self, name: str, *, as_of: int | None = None) -> DataFrame:
        """A table's rows, now or as of an lsn."""
        version = self._context.catalog.lake_version(as_of).version(TableName.parse(name))
        frame: DataFrame = operations.scan_version(self._context, version)
        return frame

    def arrow(self, name: str, *, as_of: int | None = None) -> Any:
        """The same as an Arrow table: no Spark, but all of it in memory."""
        return operations.read_arrow(
            self._context, self._context.catalog.lake_version(as_of).version(TableName.parse(name))
        )

    def preview(self, name: str, limit: int = 50) -> Preview:
        """Some rows of a table, to inspect: no Spark, and no more of the table in memory than they need."""
        return operations.preview(self._context, name, limit)

    def iceberg_table(self, name: str, *, refs_only: bool = False) -> IcebergTable:
        """A table's newest version as Iceberg metadata, for other clients; `refs_only`: no older ones."""
        return operations.load_iceberg_table(self._context, name, refs_only=refs_only)

    def snapshot(self, *, as_of: int | None = None) -> Snapshot:
        """One pinned lsn, now or an earlier one; all reads through it agree."""
        return operations.Snapshot(self._context, as_of)

    def changes(
        self, name: str, since: int, until: int | None = None, *, change_type: bool = False
    ) -> DataFrame:
        """What changed after `since` up to `until` (None: now): rows with their `_weight`.

        With `change_type`, for people: a row per occurrence, with `_change_type` insert or delete.
        """
        frame: DataFrame = operations.scan_changes(
            self._context, TableName.parse(name), since, until, change_type=change_type
        )
        return frame

    def sql(self, text: str) -> Any:
        """Run a statement: a SELECT gives a DataFrame, a change gives what it did.

        REFRESH STREAM TABLE gives its record, SHOW STREAM TABLES what `status` does, EXPLAIN STREAM TABLE
        what `explain` does; the other statements about stream tables and gates give nothing.
        """
        return operations.run_statement(self._context, self._definitions, text)

    # -- inspecting ---------------------------------------------------------------------------

    def explain(self, what: str) -> Explanation | StreamTableExplanation:
        """How a stream table, or a query, is maintained: strategy and reason per operator, which SQL runs.

        `print` it. A query that can't be maintained incrementally is explained too: it says why not.
        """
        return operations.explain_name_or_query(self._definitions, what)

    def verify(self, name: str) -> Verified:
        """Recompute a stream table's query over the versions it was made from, and compare."""
        return operations.verify_stream_table(self._definitions, name)

    def status(self) -> list[StreamTableStatus]:
        """How every stream table is doing."""
        return read_status(self._context)

    def describe_stream_table(self, name: str) -> StreamTableInfo:
        """A stream table's query, options, columns, status, and what it moves with. Needs no Spark."""
        return operations.describe_stream_table(self._context, name)

    def sources(self) -> list[SourceInfo]:
        """Every source: whether it is ready, how far it is loaded, who reads it."""
        return operations.list_sources(self._context)

    def leading_scheduler(self) -> SchedulerInfo | None:
        """The scheduler that leads, in whatever process; None if none does."""
        return operations.read_leading_scheduler(self._context)

    def pulse(self) -> Pulse:
        """A cheap value that changes when anything does that a person could see."""
        return operations.read_lake_pulse(self._context)

    def refresh_history(self, name: str | None = None, limit: int = 100) -> list[RefreshRecord]:
        """The newest refreshes, of one stream table or of all, newest first."""
        return operations.read_refresh_history(self._context, name, limit)

    def dependency_tree(self, name: str | None = None) -> DependencyTree:
        """Who reads whom; `print` it."""
        return operations.build_dependency_tree(self._context, name)

    def graph(self) -> LakeGraph:
        """Every table with its status, and who reads whom, as data."""
        return operations.read_lake_graph(self._context)

    def diamond_groups(self) -> list[DiamondGroupMember]:
        """The stream tables that move together because data that flowed apart meets in them."""
        return operations.list_diamond_groups(self._context)

    def refresh_groups(self) -> list[RefreshGroupInfo]:
        """The groups that were declared."""
        return operations.list_refresh_groups(self._context)

    def scc_status(self) -> list[CycleStatus]:
        """The stream tables that are made from each other, and how they last came to rest."""
        return operations.read_cycle_status(self._context)

    def fuse_status(self) -> list[FuseStatus]:
        """The fuse of every stream table: whether it has blown, and how close it is to that."""
        return operations.read_fuse_status(self._context)

    def source_gates(self) -> list[SourceGate]:
        """The sources that are gated, or were: since when, by whom, and what waits for them."""
        return operations.list_source_gates(self._context)

    def watermarks(self) -> list[SourceWatermark]:
        """Up to which time each source is loaded."""
        return operations.list_watermarks(self._context)

    def watermark_groups(self) -> list[WatermarkGroupInfo]:
        """The watermark groups, and whether their sources are aligned."""
        return operations.list_watermark_groups(self._context)

    def commits(self, limit: int = 100) -> list[Commit]:
        """The newest commits, newest first."""
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_COMMITS_LISTED:
            raise InputError(f"a limit is a number from 1 to {MAX_COMMITS_LISTED}")
        with self._context.catalog.database.begin_read() as connection:
            return Listing(ledger.read_recent_commits(connection, limit))

    # -- maintenance --------------------------------------------------------------------------

    def set(self, name: str, value: object) -> None:
        """Store a setting in the lake."""
        text = self._context.settings.store(name, value)
        with self._context.catalog.database.begin_write() as connection:
            ledger.store_setting(connection, name, text)

    def settings(self) -> list[SettingInfo]:
        """Every setting: the value in force, and where it comes from."""
        return operations.list_settings(self._context)

    def health(self) -> list[Check]:
        """Whether the lake can be read, written and scheduled: what was checked, and what was found."""
        return operations.run_health_checks(self._context)

    def maintain(self, *, compact: bool = True) -> Upkeep:
        """Expire old versions, sweep files that nobody needs, compact tables with many small files.

        `compact=False` leaves files as they are; a large table's are rewritten by Spark.
        """
        return operations.maintain(self._context, tidy=compact)

    def compact(self, name: str) -> Written:
        """Rewrite a table's many small files into few; its rows stay the same."""
        return operations.compact(self._context, TableName.parse(name))

    def close(self) -> None:
        """Release the lake's resources: connections, and Spark if the lake started it."""
        self._context.engine.stop()
        if (columns := value_if_created(self._context.columns)) is not None:
            columns.close()
        self._context.catalog.database.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lake({self._context.warehouse.uri.rpartition('/')[0]!r})"
