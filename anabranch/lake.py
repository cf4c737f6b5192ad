"""The lake: the one object people work with. Thin: every method hands over to its room."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.clock import Clock
from anabranch.errors import InputError
from anabranch.events import Observer, ignore
from anabranch.failpoints import Failpoints
from anabranch.late import if_made, late
from anabranch.ledger import ledger
from anabranch.ledger.records import Commit
from anabranch.listing import Listing
from anabranch.looking.status import StreamTableStatus, status
from anabranch.names import TableName
from anabranch.open import check_kind, open_parts
from anabranch.parts import Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch import looks, rooms
    from anabranch.ledger.pulse import Pulse
    from anabranch.looking.cycles import CycleStatus
    from anabranch.looking.definition import StreamTableInfo
    from anabranch.looking.explain import StreamTableExplanation
    from anabranch.looking.fuses import FuseStatus
    from anabranch.looking.gates import SourceGate, SourceWatermark, WatermarkGroupInfo
    from anabranch.looking.groups import DiamondGroupMember, RefreshGroupInfo
    from anabranch.looking.health import Check
    from anabranch.looking.history import RefreshRecord
    from anabranch.looking.picture import LakeGraph
    from anabranch.looking.pulse import SchedulerInfo
    from anabranch.looking.settings import SettingInfo
    from anabranch.looking.sources import SourceInfo
    from anabranch.looking.tree import DependencyTree
    from anabranch.read.looking import TableInfo
    from anabranch.read.preview import Preview
    from anabranch.read.published import IcebergTable
    from anabranch.read.snapshot import Snapshot
    from anabranch.refresh.explain import Explanation
    from anabranch.refresh.verify import Verified
    from anabranch.schedule.tick import TickReport
    from anabranch.upkeep import Upkeep
    from anabranch.write.autocommit import Written
    from anabranch.write.transaction import Transaction
else:
    # Imported when first entered: to look at a lake needs its catalog alone, no file is read, no SQL parsed.
    looks = late(lambda: import_module("anabranch.looks"))
    rooms = late(lambda: import_module("anabranch.rooms"))

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
        open_parts(
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

    def __init__(self, parts: Parts) -> None:
        definitions = late(lambda: rooms.Definitions(parts))
        self._definitions = definitions
        self._parts = replace(parts, follow=lambda moment, tables: rooms.follow(definitions, moment, tables))
        """Writes take along what is to follow at once; refreshes, which use the parts given, don't."""

    # -- tables -------------------------------------------------------------------------------

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Create an empty table from a DDL string, a Spark or an Arrow schema."""
        rooms.autocommit(self._parts, lambda tx: tx.create_table(name, schema, if_not_exists=if_not_exists))

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table; earlier versions stay readable as long as they are kept."""
        groups = rooms.ending_with(self._parts, name)
        rooms.autocommit(self._parts, lambda tx: tx.drop_table(name, if_exists=if_exists))
        rooms.tell_of_readers(self._parts, name)
        rooms.tell_of_watermark_groups_gone(groups)

    def tables(self) -> list[TableInfo]:
        """Every table, by name."""
        return looks.list_tables(self._parts.catalog.moment())

    # -- writing ------------------------------------------------------------------------------

    def insert(self, name: str, rows: Any, *, attempt: str | None = None) -> Written:
        """Add rows: a list of dicts or tuples, Arrow, pandas, or a Spark DataFrame."""
        rows = rooms.repeatable(rows)
        return rooms.autocommit(self._parts, lambda tx: tx.insert(name, rows), attempt=attempt)

    def update(
        self,
        name: str,
        assignments: Mapping[str, str],
        where: str | None = None,
        *,
        attempt: str | None = None,
    ) -> Written:
        """Set columns to SQL expressions, in the rows where a condition holds."""
        return rooms.autocommit(self._parts, lambda tx: tx.update(name, assignments, where), attempt=attempt)

    def delete(self, name: str, where: str | None = None, *, attempt: str | None = None) -> Written:
        """Remove the rows where a condition holds (all rows without one)."""
        return rooms.autocommit(self._parts, lambda tx: tx.delete(name, where), attempt=attempt)

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
        rows = rooms.repeatable(rows)
        return rooms.autocommit(
            self._parts, lambda tx: tx.merge(name, rows, on, delete_when), attempt=attempt
        )

    def truncate(self, name: str, *, attempt: str | None = None) -> Written:
        """Remove all rows."""
        return rooms.autocommit(self._parts, lambda tx: tx.truncate(name), attempt=attempt)

    def transaction(self, *, attempt: str | None = None) -> Transaction:
        """Several changes to several tables under one lsn; on an exception nothing happened.

        A transaction whose `attempt` was already committed is found, not repeated.
        """
        return rooms.begin(self._parts, attempt)

    def committed(self, attempt: str) -> int | None:
        """The lsn under which an attempt was committed, or None if it wasn't."""
        return rooms.committed(self._parts, attempt)

    # -- whether sources are ready ------------------------------------------------------------

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Say that a source is not ready: what is made from it waits until it is ungated.

        With `auto_ungate_on_watermark` the first `advance_watermark` does that.
        """
        rooms.autocommit(self._parts, lambda tx: tx.gate_source(name, auto_ungate_on_watermark))

    def gate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        rooms.autocommit(self._parts, lambda tx: tx.gate_sources(names))

    def ungate_source(self, name: str) -> None:
        """Say that a source is ready. In a transaction, that is seen when its rows are."""
        rooms.autocommit(self._parts, lambda tx: tx.ungate_source(name))

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        rooms.autocommit(self._parts, lambda tx: tx.ungate_sources(names))

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Say up to which time a source is loaded; never less than it was."""
        rooms.autocommit(self._parts, lambda tx: tx.advance_watermark(source, timestamp))

    def create_watermark_group(
        self,
        name: str,
        sources: Sequence[str],
        tolerance: str | timedelta = "0s",
        missing: str = "gated",
    ) -> None:
        """Declare sources that are read together only while their watermarks are near each other."""
        rooms.create_watermark_group(self._parts, name, sources, tolerance, missing)

    def drop_watermark_group(self, name: str) -> None:
        """Let what reads its sources go on, however far apart they are."""
        rooms.drop_watermark_group(self._parts, name)

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
        spec = {key: value for key, value in locals().items() if key != "self"}
        rooms.create_stream_tables(self._definitions, [spec])

    def create_stream_tables(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Several at once, all or nothing, which may read each other."""
        rooms.create_stream_tables(self._definitions, definitions)

    def alter_stream_table(self, name: str, **changes: Any) -> None:
        """Set options, or another `query`; the old contents stay until the new ones are there."""
        rooms.alter_stream_table(self._definitions, name, changes)

    def drop_stream_table(self, name: str, *, cascade: bool = False) -> None:
        """Drop a stream table, and with `cascade` all that reads it."""
        rooms.drop_stream_table(self._parts, name, cascade=cascade)

    def suspend_stream_table(self, name: str) -> None:
        """Refresh it no more until it is resumed; what is there stays readable."""
        rooms.suspend_stream_table(self._parts, name)

    def resume_stream_table(self, name: str) -> None:
        """Refresh it again, whatever the reason was that it wasn't."""
        rooms.resume_stream_table(self._parts, name)

    def reset_fuse(self, name: str, action: str) -> None:
        """Arm a blown fuse again. What it stopped is let through once (`apply`), makes way for a fill from
        nothing (`reinitialize`), or is passed over (`skip_changes`).
        """
        rooms.reset_fuse(self._definitions, name, action)

    def refresh_stream_table(self, name: str, *, full: bool = False, upstream: bool = True) -> RefreshRecord:
        """Bring it up to now, what is stale upstream first; what was done."""
        rooms.refresh_stream_table(self._definitions, name, full=full, upstream=upstream)
        return looks.refresh_history(self._parts, name, 1)[0]

    def create_refresh_group(
        self,
        name: str,
        members: Sequence[str],
        isolation: str = "read_committed",
        snapshot_timeout_ms: int = 0,
    ) -> None:
        """Declare stream tables that need share nothing, and are to be published together."""
        rooms.create_refresh_group(self._parts, name, members, isolation, snapshot_timeout_ms)

    def drop_refresh_group(self, name: str) -> None:
        """Let the members of a declared group move on their own again."""
        rooms.drop_refresh_group(self._parts, name)

    def tick(self, *, observer: Observer | None = None) -> TickReport:
        """One pass of the scheduler: refresh what is due."""
        check_kind("observer", observer, "__call__")
        lease = rooms.Lease(self._parts)
        try:
            return rooms.tick(self._definitions, lease, observer=observer or ignore)
        finally:
            lease.release()

    def run(self, *, observer: Observer | None = None, stop: threading.Event | None = None) -> None:
        """Tick until `stop` is set, or SIGTERM or SIGINT comes; sleeps while nothing is due or changes."""
        check_kind("observer", observer, "__call__")
        check_kind("stop", stop, "is_set", "wait", "set")
        rooms.run(self._definitions, observer=observer or ignore, stop=stop)

    # -- reading ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the lake's folder is called."""
        return self._parts.warehouse.uri.rsplit("/", 2)[-2]

    @property
    def clock(self) -> Clock:
        """Where the lake's time and identities come from."""
        return self._parts.clock

    @property
    def lsn(self) -> int:
        """The number of the newest commit."""
        return self._parts.catalog.moment().lsn

    @property
    def statements_run(self) -> int:
        """How many statements Spark has run for this lake, since it was connected to."""
        return self._parts.engine.statements

    def table(self, name: str, *, as_of: int | None = None) -> DataFrame:
        """A table's rows, now or as of an lsn."""
        version = self._parts.catalog.moment(as_of).version(TableName.parse(name))
        frame: DataFrame = rooms.frame_of(self._parts, version)
        return frame

    def arrow(self, name: str, *, as_of: int | None = None) -> Any:
        """The same as an Arrow table: no Spark, but all of it in memory."""
        return rooms.arrow_of(self._parts, self._parts.catalog.moment(as_of).version(TableName.parse(name)))

    def preview(self, name: str, limit: int = 50) -> Preview:
        """Some rows of a table to look at: no Spark, and no more of the table in memory than they need."""
        return rooms.preview(self._parts, name, limit)

    def iceberg_table(self, name: str, *, refs_only: bool = False) -> IcebergTable:
        """A table's newest version as Iceberg metadata, for other clients; `refs_only`: no older ones."""
        return rooms.iceberg_table(self._parts, name, refs_only=refs_only)

    def snapshot(self, *, as_of: int | None = None) -> Snapshot:
        """One pinned lsn, now or an earlier one; all reads through it agree."""
        return rooms.Snapshot(self._parts, as_of)

    def changes(
        self, name: str, since: int, until: int | None = None, *, change_type: bool = False
    ) -> DataFrame:
        """What changed after `since` up to `until` (None: now): rows with their `_weight`.

        With `change_type`, for people: a row per occurrence, with `_change_type` insert or delete.
        """
        weighted = rooms.changes_between(self._parts, TableName.parse(name), since, until)
        frame: DataFrame = self._parts.engine.spelled(weighted) if change_type else weighted
        return frame

    def sql(self, text: str) -> Any:
        """Run a statement: a SELECT gives a DataFrame, a change gives what it did.

        REFRESH STREAM TABLE gives its record, SHOW STREAM TABLES what `status` does, EXPLAIN STREAM TABLE
        what `explain` does; the other statements about stream tables and gates give nothing.
        """
        return rooms.run_statement(self._parts, self._definitions, text)

    # -- looking ------------------------------------------------------------------------------

    def explain(self, what: str) -> Explanation | StreamTableExplanation:
        """How a stream table, or a query, is maintained: strategy and reason per operator, which SQL runs.

        `print` it. A query that can't be maintained incrementally is explained too: it says why not.
        """
        return rooms.explain_any(self._definitions, what)

    def verify(self, name: str) -> Verified:
        """Recompute a stream table's query over the versions it was made from, and compare."""
        return rooms.verify_stream_table(self._definitions, name)

    def status(self) -> list[StreamTableStatus]:
        """How every stream table is doing."""
        return status(self._parts)

    def describe_stream_table(self, name: str) -> StreamTableInfo:
        """A stream table's query, options, columns, status, and what it moves with. Needs no Spark."""
        return looks.describe_stream_table(self._parts, name)

    def sources(self) -> list[SourceInfo]:
        """Every source: whether it is ready, how far it is loaded, who reads it."""
        return looks.sources(self._parts)

    def leading_scheduler(self) -> SchedulerInfo | None:
        """The scheduler that leads, in whatever process; None if none does."""
        return looks.leading_scheduler(self._parts)

    def pulse(self) -> Pulse:
        """A cheap look: it changes when anything does that a person could see."""
        return looks.pulse(self._parts)

    def refresh_history(self, name: str | None = None, limit: int = 100) -> list[RefreshRecord]:
        """The newest refreshes, of one stream table or of all, newest first."""
        return looks.refresh_history(self._parts, name, limit)

    def dependency_tree(self, name: str | None = None) -> DependencyTree:
        """Who reads whom; `print` it."""
        return looks.dependency_tree(self._parts, name)

    def graph(self) -> LakeGraph:
        """Every table with its status, and who reads whom, as data."""
        return looks.lake_graph(self._parts)

    def diamond_groups(self) -> list[DiamondGroupMember]:
        """The stream tables that move together because data that flowed apart meets in them."""
        return looks.diamond_groups(self._parts)

    def refresh_groups(self) -> list[RefreshGroupInfo]:
        """The groups that were declared."""
        return looks.refresh_groups(self._parts)

    def scc_status(self) -> list[CycleStatus]:
        """The stream tables that are made from each other, and how they last came to rest."""
        return looks.scc_status(self._parts)

    def fuse_status(self) -> list[FuseStatus]:
        """The fuse of every stream table: whether it has blown, and how near it is."""
        return looks.fuse_status(self._parts)

    def source_gates(self) -> list[SourceGate]:
        """The sources that are gated, or were: since when, by whom, and what waits for them."""
        return looks.source_gates(self._parts)

    def watermarks(self) -> list[SourceWatermark]:
        """Up to which time each source is loaded."""
        return looks.watermarks(self._parts)

    def watermark_groups(self) -> list[WatermarkGroupInfo]:
        """The watermark groups, and whether their sources are aligned."""
        return looks.watermark_groups(self._parts)

    def commits(self, limit: int = 100) -> list[Commit]:
        """The newest commits, newest first."""
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_COMMITS_LISTED:
            raise InputError(f"a limit is a number from 1 to {MAX_COMMITS_LISTED}")
        with self._parts.catalog.database.reading() as connection:
            return Listing(ledger.recent_commits(connection, limit))

    # -- keeping house ------------------------------------------------------------------------

    def set(self, name: str, value: object) -> None:
        """Store a setting in the lake."""
        text = self._parts.settings.store(name, value)
        with self._parts.catalog.database.writing() as connection:
            ledger.store_setting(connection, name, text)

    def settings(self) -> list[SettingInfo]:
        """Every setting: the value in force, and where it comes from."""
        return looks.settings(self._parts)

    def health(self) -> list[Check]:
        """Whether the lake can be read, written and scheduled: what was looked at, and what was found."""
        return looks.examine(self._parts)

    def maintain(self, *, compact: bool = True) -> Upkeep:
        """Expire old versions, sweep files that nobody needs, compact tables with many small files.

        `compact=False` leaves files as they are; a large table's are rewritten by Spark.
        """
        return rooms.maintain(self._parts, tidy=compact)

    def compact(self, name: str) -> Written:
        """Rewrite a table's many small files into few; its rows stay the same."""
        return rooms.compact(self._parts, TableName.parse(name))

    def close(self) -> None:
        """Give back what the lake holds: connections, and Spark if it was started here."""
        self._parts.engine.stop()
        if (columns := if_made(self._parts.columns)) is not None:
            columns.close()
        self._parts.catalog.database.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lake({self._parts.warehouse.uri.rpartition('/')[0]!r})"
