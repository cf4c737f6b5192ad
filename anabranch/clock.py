"""Time and identity, as arguments: the only place that asks the machine for either."""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where time and fresh identities come from. Clocks decide when, never what."""

    def now(self) -> datetime:
        """The time, with its zone (UTC)."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def new_id(self) -> str:
        """32 hexadecimal digits that nobody has seen before."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time, with its zone (UTC)."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def new_id(self) -> str:
        """32 hexadecimal digits that nobody has seen before."""
        return uuid.uuid4().hex


class ManualClock:
    """A clock that moves only when told to; sleeping moves it too.

    >>> clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    >>> clock.advance(90)
    >>> clock.now().isoformat()
    '2030-01-01T00:01:30+00:00'
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2030, 1, 1, tzinfo=UTC)
        if self._now.tzinfo is None:
            raise ValueError("a ManualClock starts at a time with a zone")
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The time this clock was left at."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Move forward; going back is refused."""
        if seconds < 0:
            raise ValueError("a clock does not go back")
        with self._lock:
            self._now += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """Move forward instead of waiting."""
        self.advance(seconds)

    def new_id(self) -> str:
        """32 hexadecimal digits; identities stay unique even where time stands still."""
        return uuid.uuid4().hex


def new_token() -> str:
    """A secret that can't be guessed, in 43 characters that need no quoting anywhere."""
    return secrets.token_urlsafe(32)


def read_stopwatch() -> float:
    """Seconds of work, for measuring how long something took; says nothing about when."""
    return time.perf_counter()
