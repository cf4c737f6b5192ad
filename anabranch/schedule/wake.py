"""Sleeping until something was committed, in this process or in another one.

Commits of this process set an event of the catalog. Those of other processes notify on PostgreSQL; on SQLite
the newest lsn is polled a few times a second, which costs a fraction of a millisecond.
"""

from __future__ import annotations

import threading
from datetime import datetime
from types import TracebackType

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger import ledger

POLL_SECONDS = 0.05
"""How often SQLite is asked for the newest lsn."""

RECHECK_SECONDS = 0.5
"""How often PostgreSQL is asked, although it notifies: a notification may be lost with its connection."""

LISTEN_SECONDS = 0.5
"""How long a wait for notifications lasts before it checks whether to stop."""


class Waker:
    """Wakes a scheduler. Use as a context manager."""

    def __init__(self, context: LakeContext, stop: threading.Event) -> None:
        self._context = context
        self._stop = stop
        self._listener: threading.Thread | None = None
        self._over = threading.Event()

    def __enter__(self) -> Waker:
        database = self._context.catalog.database
        if not database.is_sqlite:
            self._listener = threading.Thread(
                target=database.listen,
                args=(self._context.catalog.committed.set, self._over, LISTEN_SECONDS),
                name="anabranch-listen",
                daemon=True,
            )
            self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._listener is not None:
            self._listener.join()

    def wait(self, seen: int, until: datetime) -> None:
        """Sleep until `until`, or until there is a newer lsn than `seen`, or it is time to stop."""
        news = self._context.catalog.committed
        every = POLL_SECONDS if self._context.catalog.database.is_sqlite else RECHECK_SECONDS
        while not self._stop.is_set():
            news.clear()
            if self._read_current_lsn() > seen:
                return
            left = (until - self._context.clock.now()).total_seconds()
            if left <= 0:
                return
            news.wait(min(left, every))

    def pause(self, seconds: float) -> None:
        """Sleep, unless it is time to stop."""
        self._stop.wait(seconds)

    def _read_current_lsn(self) -> int:
        with self._context.catalog.database.begin_read() as connection:
            return ledger.read_current_lsn(connection)
