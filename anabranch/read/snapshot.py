"""A pinned lsn: everything read through it agrees, and stays readable while it is pinned."""

from __future__ import annotations

import os
import socket
import threading
from datetime import datetime
from types import TracebackType
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import Frame
from anabranch.errors import UnsupportedStatement, VersionExpired
from anabranch.ledger import pins
from anabranch.names import TableName
from anabranch.read.scan_tables import read_arrow, run_query, scan_version
from anabranch.sql.parse_statement import Select, parse_statement
from anabranch.streams.versions import LakeVersion


class Snapshot:
    """Reads at one lsn. Close it, or use it as a context manager, to release the pin.

    The pin of a snapshot that nobody uses expires after the setting `pin_lifetime`.
    """

    def __init__(self, context: LakeContext, lsn: int | None = None) -> None:
        self._context = context
        self._pin = context.clock.new_id()
        self._lock = threading.Lock()
        self._closed = False
        self._renewed = context.clock.now()
        self._lake_version: LakeVersion = context.catalog.lake_version_with_pin(lsn, self._write_pin)

    @property
    def lsn(self) -> int:
        """The lsn that everything is read at."""
        return self._lake_version.lsn

    def table(self, name: str) -> Frame:
        """A table's rows."""
        return scan_version(self._context, self._read_lake_version().version(TableName.parse(name)))

    def arrow(self, name: str) -> Any:
        """A table's rows as an Arrow table. Needs no Spark, but all of it in memory."""
        return read_arrow(self._context, self._read_lake_version().version(TableName.parse(name)))

    def sql(self, text: str) -> Frame:
        """The rows of a SELECT."""
        lake_version = self._read_lake_version()
        statement = parse_statement(text)
        if not isinstance(statement, Select):
            raise UnsupportedStatement("a snapshot can only be read", hint="use lake.sql for statements.")
        return run_query(self._context, lake_version, statement.query)

    def tables(self) -> list[str]:
        """The names of the tables that existed."""
        return sorted(str(name) for name in self._lake_version.versions)

    def close(self) -> None:
        """Release the pin; versions that nobody else needs may then expire."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        with self._context.catalog.database.begin_write() as connection:
            pins.remove_pin(connection, self._pin)

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Snapshot(lsn={self.lsn})"

    def _write_pin(self, connection: Any, lsn: int) -> None:
        pins.store_pin(
            connection,
            pin=self._pin,
            lsn=lsn,
            kind="snapshot",
            holder=f"{socket.gethostname()}:{os.getpid()}"[:255],
            expires_at=self._now() + self._context.settings["pin_lifetime"],
        )

    def _read_lake_version(self) -> LakeVersion:
        """The lake version, with the tables' current metadata: pinned snapshots are still in it."""
        with self._lock:
            if self._closed:
                raise VersionExpired("this snapshot is closed", hint="take another one: lake.snapshot().")
            if self._now() - self._renewed >= self._context.settings["pin_lifetime"] / 2:
                # An lsn that is no longer kept is refused, not pinned again.
                self._context.catalog.lake_version_with_pin(self.lsn, self._write_pin)
                self._renewed = self._now()
        return self._context.catalog.lake_version(self.lsn)

    def _now(self) -> datetime:
        return self._context.clock.now()
