"""The scheduler's loop: tick, then sleep until something is due or something was committed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import FrameType

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import CatalogUnavailable, CommitUnknown, FencedOff
from anabranch.events import Observer, ignore_event
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.schedule.lease import Lease
from anabranch.schedule.tick import TickReport, tick
from anabranch.schedule.wake import Waker

PAUSE_AFTER_LOSS = 1.0
"""Seconds until a scheduler that lost the database, or its lease, tries again."""


def run(
    definitions: DefinitionCache, *, observer: Observer = ignore_event, stop: threading.Event | None = None
) -> None:
    """Tick until `stop` is set, or until a SIGTERM or SIGINT; the group that runs then is finished first."""
    context = definitions.context
    stop = stop or threading.Event()
    lease = Lease(context)
    with _stop_on_signals(stop), Waker(context, stop) as waker:
        try:
            while not stop.is_set():
                try:
                    report = tick(definitions, lease, observer=observer, stopped=stop.is_set)
                    waker.wait(report.lsn, _next_tick_time(context, report))
                except (FencedOff, CatalogUnavailable, CommitUnknown):
                    # Another leads by now, or nobody can. What was published is whole: try again later.
                    waker.pause(PAUSE_AFTER_LOSS)
        finally:
            lease.release()


def _next_tick_time(context: LakeContext, report: TickReport) -> datetime:
    """When to tick again at the latest: when something is due, or before the lease runs out."""
    now = context.clock.now()
    latest: datetime = now + context.settings["scheduler_lease"] / 3
    if not report.leads:
        latest = now + context.settings["tick_interval"]
    return latest if report.next_due is None else min(latest, report.next_due)


@contextmanager
def _stop_on_signals(stop: threading.Event) -> Iterator[None]:
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
