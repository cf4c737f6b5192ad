"""Sleeping until something was committed: here, or by another process.

In this process the catalog says so. On PostgreSQL the others' commits notify; on SQLite nothing does, and the
newest lsn is looked up a few times a second, which costs a fraction of a millisecond.
"""

from __future__ import annotations

import threading
from datetime import datetime
from types import TracebackType

from anabranch.ledger import ledger
from anabranch.parts import Parts

POLL_SECONDS = 0.05
LISTEN_SECONDS = 0.5
"""How long a wait for notifications lasts before it looks whether to stop."""


class Waker:
    """Wakes a scheduler. Use as a context manager."""

    def __init__(self, parts: Parts, stop: threading.Event) -> None:
        self._parts = parts
        self._stop = stop
        self._listener: threading.Thread | None = None
        self._over = threading.Event()

    def __enter__(self) -> Waker:
        database = self._parts.catalog.database
        if not database.is_sqlite:
            self._listener = threading.Thread(
                target=database.listen,
                args=(self._parts.catalog.committed.set, self._over, LISTEN_SECONDS),
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
        news = self._parts.catalog.committed
        while not self._stop.is_set():
            news.clear()
            if self._newest() > seen:
                return
            left = (until - self._parts.clock.now()).total_seconds()
            if left <= 0:
                return
            news.wait(min(left, POLL_SECONDS if self._parts.catalog.database.is_sqlite else LISTEN_SECONDS))

    def pause(self, seconds: float) -> None:
        """Sleep, unless it is time to stop."""
        self._stop.wait(seconds)

    def _newest(self) -> int:
        with self._parts.catalog.database.reading() as connection:
            return ledger.current_lsn(connection)
