"""One database, SQLite or PostgreSQL, with two kinds of transaction.

`begin_read()` sees one snapshot of the database and blocks nobody. `begin_write()` is serialised with every
other writer: SQLite takes its write lock at BEGIN (a deferred transaction that upgrades fails under
contention however long it waits), PostgreSQL locks the lake's one row. Numbers assigned inside it
are therefore in the order in which they become visible.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any

from sqlalchemy import Connection as Connection  # noqa: PLC0414  (the type that callers pass on)
from sqlalchemy import Engine, create_engine, event, make_url, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError

from anabranch.errors import CatalogUnavailable, InvalidLocation
from anabranch.ledger import tables

_MODE = "anabranch_mode"
_DRIVERS = frozenset({"sqlite", "sqlite+pysqlite", "postgresql+psycopg"})
_WAL_TRIES = 100
CHANNEL = "anabranch_commits"
_NOT_A_FILE = (None, "", ":memory:")


class Database:
    """A pool of connections to the catalog database."""

    def __init__(self, url: str, *, timeout: timedelta) -> None:
        self.url = _parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._seconds = timeout.total_seconds()
        self.engine = self._sqlite_engine() if self.is_sqlite else self._postgres_engine()

    def format_url(self) -> str:
        """The address without its password, and without options, where one could stand too."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    @contextmanager
    def begin_read(self) -> Iterator[Connection]:
        """A transaction that sees one snapshot of the database."""
        with self._translate_errors(), self._begin("read") as connection:
            yield connection

    @contextmanager
    def begin_write(self) -> Iterator[Connection]:
        """A transaction that no other `begin_write` overlaps; committed at the end, else rolled back."""
        with self._translate_errors(), self.begin_commit() as connection:
            yield connection

    @contextmanager
    def begin_commit(self) -> Iterator[Connection]:
        """As `begin_write`, for callers that must find out whether it was committed.

        An error of the database is raised as it is once the transaction may have done something.
        """
        with self._begin("write") as connection:
            if not self.is_sqlite:
                with self._translate_errors():
                    connection.execute(select(tables.lake.c.id).with_for_update())
            yield connection

    @contextmanager
    def begin_migration(self) -> Iterator[Connection]:
        """A transaction for changing the tables themselves; one process at a time."""
        with self._translate_errors(), self._begin("write") as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7263180345)"))
            yield connection

    def notify(self, connection: Connection) -> None:
        """Tell those who listen, once the transaction is committed."""
        if not self.is_sqlite:
            connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": CHANNEL})

    def listen(self, heard: Callable[[], None], over: Event, patience: float) -> None:
        """Call `heard` whenever somebody notifies, until `over` is set. Only PostgreSQL does."""
        from psycopg import Error

        while not over.is_set():
            try:
                with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.detach()  # nobody else gets one that listens
                    connection.execute(text(f"LISTEN {CHANNEL}"))
                    heard()  # for what came while nobody listened
                    driver: Any = connection.connection.dbapi_connection
                    while not over.is_set():
                        for _ in driver.notifies(timeout=patience, stop_after=1):
                            heard()
            except (DBAPIError, Error):
                # The connection is lost; waiting schedulers also read the lsn now and then.
                over.wait(patience)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    @contextmanager
    def _begin(self, mode: str) -> Iterator[Connection]:
        options: dict[str, Any] = {_MODE: mode}
        if not self.is_sqlite:
            options["isolation_level"] = "REPEATABLE READ" if mode == "read" else "READ COMMITTED"
        with self._translate_errors():
            connection = self.engine.connect().execution_options(**options)
        with connection:
            with self._translate_errors():
                transaction = connection.begin()
            with transaction:
                yield connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._unavailable_error(error) from error

    def _unavailable_error(self, error: DBAPIError) -> CatalogUnavailable:
        reason = str(error.orig).strip().splitlines()
        return CatalogUnavailable(
            f"the catalog database {self.format_url()} can't be used",
            detail=(reason[0] if reason else type(error.orig).__name__) + ".",
            hint=f"it was tried for up to {self._seconds:g} s (setting catalog_timeout).",
        )

    def _sqlite_engine(self) -> Engine:
        engine = create_engine(self.url, connect_args={"timeout": self._seconds, "check_same_thread": False})

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            # SQLAlchemy's BEGIN below is the only one; the driver must not add its own.
            connection.isolation_level = None
            cursor = connection.cursor()
            _enter_wal(cursor)
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.close()

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            mode = connection.get_execution_options().get(_MODE, "write")
            connection.exec_driver_sql("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")

        return engine

    def _postgres_engine(self) -> Engine:
        milliseconds = round(self._seconds * 1000)
        try:
            return create_engine(
                self.url,
                pool_pre_ping=True,
                connect_args={
                    "connect_timeout": max(2, round(min(self._seconds, 30))),
                    "options": f"-c lock_timeout={milliseconds} -c timezone=UTC",
                },
            )
        except ImportError as error:
            raise InvalidLocation(
                "the driver for PostgreSQL is not installed", hint="install anabranch[postgres]."
            ) from error


def _enter_wal(cursor: sqlite3.Cursor) -> None:
    """Switch a SQLite file to its write-ahead log, where that isn't done yet.

    Alone of all statements, this one doesn't wait for another process that switches it too.
    """
    for _ in range(_WAL_TRIES):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            # This one does wait.
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
    cursor.execute("PRAGMA journal_mode = WAL")


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: the cause would show the address, and in it the password.
        raise InvalidLocation(
            "the catalog's address can't be read",
            hint="write sqlite:///path/catalog.db or postgresql+psycopg://user:password@host/database.",
        ) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise InvalidLocation(
            f"a catalog can't live in {parsed.get_backend_name()}", hint="use sqlite or postgresql+psycopg."
        )
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in _DRIVERS:
        raise InvalidLocation(
            f"a catalog can't be reached by {parsed.drivername}", hint="use sqlite or postgresql+psycopg."
        )
    if parsed.get_backend_name() == "sqlite" and (parsed.database in _NOT_A_FILE or parsed.query):
        raise InvalidLocation(
            "a SQLite catalog needs a file, and takes no options", hint="write sqlite:///path/catalog.db."
        )
    return parsed
