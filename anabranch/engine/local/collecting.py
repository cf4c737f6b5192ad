"""Python's collector of cycles waits while rows are computed.

Rows form no cycles: they go as soon as nothing holds them. But each is an object that the collector looks at,
and once there are many new ones it looks at all objects of the process, which takes as long as a refresh.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Waiting:
    """How many threads compute rows right now. A process has one collector, so one of these."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._was_on = False

    def enter(self) -> None:
        with self._lock:
            if not self._threads:
                self._was_on = gc.isenabled()
                gc.disable()
            self._threads += 1

    def leave(self) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads and self._was_on:
                gc.enable()


_WAITING = _Waiting()


@contextmanager
def collector_waits() -> Iterator[None]:
    """Nothing is collected in here. After the last thread has left it goes on, unless it was off before."""
    _WAITING.enter()
    try:
        yield
    finally:
        _WAITING.leave()
