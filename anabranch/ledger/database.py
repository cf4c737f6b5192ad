"""One database, SQLite or PostgreSQL, with two kinds of transaction.

`reading()` sees one moment of the database and blocks nobody. `writing()` is serialised with every
other writer: SQLite takes its write lock at BEGIN (a deferred transaction that upgrades fails under
contention however long it waits), PostgreSQL locks the lake's one row. Numbers handed out inside it
are therefore in the order in which they become visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection as Connection  # noqa: PLC0414  (the type that callers pass on)
from sqlalchemy import Engine, create_engine, event, make_url, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from anabranch.errors import CatalogUnavailable, InvalidLocation
from anabranch.ledger import tables

_MODE = "anabranch_mode"


class Database:
    """A pool of connections to the catalog database."""

    def __init__(self, url: str, *, timeout: timedelta) -> None:
        self.url = _checked(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._seconds = timeout.total_seconds()
        self.engine = self._sqlite_engine() if self.is_sqlite else self._postgres_engine()

    def shown(self) -> str:
        """The address without its password."""
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database."""
        with self._transaction("read") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other `writing` overlaps; committed at the end, else rolled back."""
        with self._transaction("write") as connection:
            if not self.is_sqlite:
                connection.execute(select(tables.lake.c.id).with_for_update())
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for changing the tables themselves; one process at a time."""
        with self._transaction("write") as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7263180345)"))
            yield connection

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Connection]:
        options: dict[str, Any] = {_MODE: mode}
        if not self.is_sqlite:
            options["isolation_level"] = "REPEATABLE READ" if mode == "read" else "READ COMMITTED"
        try:
            connection = self.engine.connect().execution_options(**options)
        except DBAPIError as error:
            raise self._unavailable(error) from error
        with connection:
            try:
                transaction = connection.begin()
            except OperationalError as error:
                raise self._unavailable(error) from error
            with transaction:
                yield connection

    def _unavailable(self, error: DBAPIError) -> CatalogUnavailable:
        reason = str(error.orig).strip().splitlines()
        return CatalogUnavailable(
            f"the catalog database {self.shown()} can't be used",
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
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.close()

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            mode = connection.get_execution_options().get(_MODE, "write")
            connection.exec_driver_sql("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")

        return engine

    def _postgres_engine(self) -> Engine:
        milliseconds = round(self._seconds * 1000)
        engine = create_engine(
            self.url,
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": max(2, round(min(self._seconds, 30))),
                "options": f"-c lock_timeout={milliseconds} -c timezone=UTC",
            },
        )
        return engine


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidLocation(
            "the catalog's address can't be read",
            hint="write sqlite:///path/catalog.db or postgresql+psycopg://user:password@host/database.",
        ) from error
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise InvalidLocation(
            f"a catalog can't live in {parsed.get_backend_name()}", hint="use sqlite or postgresql+psycopg."
        )
    if parsed.get_backend_name() == "postgresql" and parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed
