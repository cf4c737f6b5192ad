"""A pinned lsn: everything read through it agrees, and stays readable while it is held."""

from __future__ import annotations

import os
import socket
import threading
from datetime import datetime
from types import TracebackType
from typing import Any

from anabranch.engine.base import Frame
from anabranch.errors import UnsupportedStatement, VersionExpired
from anabranch.ledger import pins
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import arrow_of, frame_of, run_query
from anabranch.sql.statements import Select, parse_statement


class Snapshot:
    """Reads of one lsn. Close it, or use it as a context manager, to let go of it.

    A snapshot that nobody uses lets go by itself after the setting `pin_lifetime`.
    """

    def __init__(self, parts: Parts, lsn: int | None = None) -> None:
        self._parts = parts
        self._pin = parts.clock.new_id()
        self._lock = threading.Lock()
        self._closed = False
        self._renewed = parts.clock.now()
        self._moment: Moment = parts.catalog.moment_pinned(lsn, self._hold)

    @property
    def lsn(self) -> int:
        """The lsn that everything here is read at."""
        return self._moment.lsn

    def table(self, name: str) -> Frame:
        """A table's rows."""
        return frame_of(self._parts, self._kept().version(TableName.parse(name)))

    def arrow(self, name: str) -> Any:
        """A table's rows as an Arrow table. Needs no Spark, but all of it in memory."""
        return arrow_of(self._parts, self._kept().version(TableName.parse(name)))

    def sql(self, text: str) -> Frame:
        """The rows of a SELECT."""
        moment = self._kept()
        statement = parse_statement(text)
        if not isinstance(statement, Select):
            raise UnsupportedStatement("a snapshot can only be read", hint="use lake.sql for statements.")
        return run_query(self._parts, moment, statement.query)

    def tables(self) -> list[str]:
        """The names of the tables that existed."""
        return sorted(str(name) for name in self._moment.versions)

    def close(self) -> None:
        """Let go; what nobody else needs may then be expired."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        with self._parts.catalog.database.writing() as connection:
            pins.unpin(connection, self._pin)

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Snapshot(lsn={self.lsn})"

    def _hold(self, connection: Any, lsn: int) -> None:
        pins.pin(
            connection,
            pin=self._pin,
            lsn=lsn,
            kind="snapshot",
            holder=f"{socket.gethostname()}:{os.getpid()}"[:255],
            expires_at=self._now() + self._parts.settings["pin_lifetime"],
        )

    def _kept(self) -> Moment:
        """The moment, with the tables' metadata where it stands today: what is pinned is still in it."""
        with self._lock:
            if self._closed:
                raise VersionExpired("this snapshot is closed", hint="take another one: lake.snapshot().")
            if self._now() - self._renewed >= self._parts.settings["pin_lifetime"] / 2:
                # An lsn that is no longer kept is refused, not pinned again.
                self._parts.catalog.moment_pinned(self.lsn, self._hold)
                self._renewed = self._now()
        return self._parts.catalog.moment(self.lsn)

    def _now(self) -> datetime:
        return self._parts.clock.now()
