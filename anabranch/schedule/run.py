"""The scheduler's loop: tick, then sleep until something is due or something was committed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import FrameType

from anabranch.errors import CatalogUnavailable, CommitUnknown, FencedOff
from anabranch.events import Observer, ignore
from anabranch.parts import Parts
from anabranch.refresh.definitions import Definitions
from anabranch.schedule.lease import Lease
from anabranch.schedule.tick import TickReport, tick
from anabranch.schedule.wake import Waker

PAUSE_AFTER_LOSS = 1.0
"""Seconds until a scheduler that lost the database, or its lease, looks again."""


def run(
    definitions: Definitions, *, observer: Observer = ignore, stop: threading.Event | None = None
) -> None:
    """Tick until `stop` is set, or until a SIGTERM or SIGINT; the group that runs then is finished first."""
    parts = definitions.parts
    stop = stop or threading.Event()
    lease = Lease(parts)
    with _signals(stop), Waker(parts, stop) as waker:
        try:
            while not stop.is_set():
                try:
                    report = tick(definitions, lease, observer=observer, stopped=stop.is_set)
                    waker.wait(report.lsn, _until(parts, report))
                except (FencedOff, CatalogUnavailable, CommitUnknown):
                    # Another leads by now, or nobody can. What was published is whole: look again later.
                    waker.pause(PAUSE_AFTER_LOSS)
        finally:
            lease.release()


def _until(parts: Parts, report: TickReport) -> datetime:
    """When to look again at the latest: when something is due, or before the lease runs out."""
    now = parts.clock.now()
    latest: datetime = now + parts.settings["scheduler_lease"] / 3
    if not report.leads:
        latest = now + parts.settings["tick_interval"]
    return latest if report.next_due is None else min(latest, report.next_due)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT stop the loop, where the main thread runs it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
