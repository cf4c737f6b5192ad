"""The lake: the one object people work with. Thin: every method hands over to its room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.clock import Clock
from anabranch.errors import InputError
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from anabranch.ledger import ledger
from anabranch.ledger.records import Commit
from anabranch.names import TableName
from anabranch.open import open_parts
from anabranch.parts import Parts
from anabranch.read.looking import TableInfo, list_tables
from anabranch.read.snapshot import Snapshot
from anabranch.read.view import arrow_of, changes_between, frame_of
from anabranch.refresh.explain import Explanation, explain
from anabranch.statements import run_statement
from anabranch.storage.rows import repeatable
from anabranch.upkeep import Upkeep, compact, maintain
from anabranch.write.autocommit import Written, autocommit, committed
from anabranch.write.repeated import begin
from anabranch.write.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_COMMITS_LISTED = 1_000_000


def connect(
    location: str | Path,
    *,
    catalog: str | None = None,
    spark: SparkSession | None = None,
    clock: Clock | None = None,
    observer: Observer | None = None,
    failpoints: Failpoints | None = None,
    **settings: object,
) -> Lake:
    """Open the lake at `location`, or create it there.

    `catalog` is the address of its database, by default a SQLite file inside the location. Spark
    starts when it is first needed, unless a session is given.
    """
    return Lake(
        open_parts(
            location,
            catalog=catalog,
            spark=spark,
            clock=clock,
            observer=observer,
            failpoints=failpoints,
            arguments=settings,
        )
    )


class Lake:
    """A warehouse location plus one catalog database. Made by `connect`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    # -- tables -------------------------------------------------------------------------------

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Create an empty table from a DDL string, a Spark or an Arrow schema."""
        autocommit(self._parts, lambda tx: tx.create_table(name, schema, if_not_exists=if_not_exists))

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table; earlier versions stay readable as long as they are kept."""
        autocommit(self._parts, lambda tx: tx.drop_table(name, if_exists=if_exists))

    def tables(self) -> list[TableInfo]:
        """Every table, by name."""
        return list_tables(self._parts.catalog.moment())

    # -- writing ------------------------------------------------------------------------------

    def insert(self, name: str, rows: Any, *, attempt: str | None = None) -> Written:
        """Add rows: a list of dicts or tuples, Arrow, pandas, or a Spark DataFrame."""
        rows = repeatable(rows)
        return autocommit(self._parts, lambda tx: tx.insert(name, rows), attempt=attempt)

    def update(
        self,
        name: str,
        assignments: Mapping[str, str],
        where: str | None = None,
        *,
        attempt: str | None = None,
    ) -> Written:
        """Set columns to SQL expressions, in the rows where a condition holds."""
        return autocommit(self._parts, lambda tx: tx.update(name, assignments, where), attempt=attempt)

    def delete(self, name: str, where: str | None = None, *, attempt: str | None = None) -> Written:
        """Remove the rows where a condition holds (all rows without one)."""
        return autocommit(self._parts, lambda tx: tx.delete(name, where), attempt=attempt)

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
        rows = repeatable(rows)
        return autocommit(self._parts, lambda tx: tx.merge(name, rows, on, delete_when), attempt=attempt)

    def truncate(self, name: str, *, attempt: str | None = None) -> Written:
        """Remove all rows."""
        return autocommit(self._parts, lambda tx: tx.truncate(name), attempt=attempt)

    def transaction(self, *, attempt: str | None = None) -> Transaction:
        """Several changes to several tables under one lsn; on an exception nothing happened.

        A transaction whose `attempt` was already committed is found, not repeated.
        """
        return begin(self._parts, attempt)

    def committed(self, attempt: str) -> int | None:
        """The lsn under which an attempt was committed, or None if it wasn't."""
        return committed(self._parts, attempt)

    # -- reading ------------------------------------------------------------------------------

    @property
    def lsn(self) -> int:
        """The number of the newest commit."""
        return self._parts.catalog.moment().lsn

    def table(self, name: str, *, as_of: int | None = None) -> DataFrame:
        """A table's rows, now or as of an lsn."""
        version = self._parts.catalog.moment(as_of).version(TableName.parse(name))
        frame: DataFrame = frame_of(self._parts, version)
        return frame

    def arrow(self, name: str, *, as_of: int | None = None) -> Any:
        """The same as an Arrow table: no Spark, but all of it in memory."""
        return arrow_of(self._parts, self._parts.catalog.moment(as_of).version(TableName.parse(name)))

    def snapshot(self, *, as_of: int | None = None) -> Snapshot:
        """One pinned lsn, now or an earlier one; all reads through it agree."""
        return Snapshot(self._parts, as_of)

    def changes(
        self, name: str, since: int, until: int | None = None, *, change_type: bool = False
    ) -> DataFrame:
        """What changed after `since` up to `until` (None: now): rows with their `_weight`.

        With `change_type`, for people: a row per occurrence, with `_change_type` insert or delete.
        """
        weighted = changes_between(self._parts, TableName.parse(name), since, until)
        frame: DataFrame = self._parts.engine.spelled(weighted) if change_type else weighted
        return frame

    def sql(self, text: str) -> Any:
        """Run a statement: a SELECT gives a DataFrame, a change gives what it did."""
        return run_statement(self._parts, text)

    def explain(self, query: str) -> Explanation:
        """How a query would be maintained: strategy and reason per operator, what is stored, which SQL runs.

        `print` it. A query that can't be maintained incrementally is explained too: it says why not.
        """
        return explain(self._parts, query, self._parts.catalog.moment())

    def commits(self, limit: int = 100) -> list[Commit]:
        """The newest commits, newest first."""
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_COMMITS_LISTED:
            raise InputError(f"a limit is a number from 1 to {MAX_COMMITS_LISTED}")
        with self._parts.catalog.database.reading() as connection:
            return ledger.recent_commits(connection, limit)

    # -- keeping house ------------------------------------------------------------------------

    def set(self, name: str, value: object) -> None:
        """Store a setting in the lake."""
        text = self._parts.settings.store(name, value)
        with self._parts.catalog.database.writing() as connection:
            ledger.store_setting(connection, name, text)

    def maintain(self) -> Upkeep:
        """Expire old versions, sweep files that nobody needs."""
        return maintain(self._parts)

    def compact(self, name: str) -> Written:
        """Rewrite a table's many small files into few; its rows stay the same."""
        return compact(self._parts, TableName.parse(name))

    def close(self) -> None:
        """Give back what the lake holds: connections, and Spark if it was started here."""
        self._parts.engine.stop()
        self._parts.catalog.database.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lake({self._parts.warehouse.uri.rpartition('/')[0]!r})"
