"""The service behind the routes: the lake, its scheduler, and a watcher that notices what changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from anyio import CapacityLimiter

from anabranch.clock import read_stopwatch
from anabranch.errors import AnabranchError
from anabranch.events import Event
from anabranch.inspect.history import RefreshRecord
from anabranch.lake import Lake
from anabranch.ledger.pulse import Pulse
from anabranch.web.access import Access
from anabranch.web.actions import ActionPool, ActionState
from anabranch.web.events import EventStreams
from anabranch.web.metrics import Metrics, gauges

if TYPE_CHECKING:
    from prometheus_client.core import Metric

POLL_SECONDS = 0.3
"""How often the watcher looks."""
PAUSE_AFTER_TROUBLE = 2.0
MAX_TOLD = 1000
"""Entries of the history that are counted and logged at a time; of more, the newest."""

SchedulerState = Literal["leading", "waiting", "stopped"]

log = logging.getLogger(__name__)


class Service:
    """What the routes of one application share."""

    def __init__(self, lake: Lake, access: Access, *, scheduler: bool) -> None:
        self.lake = lake
        self.access = access
        self.events = EventStreams()
        self.metrics = Metrics()
        self.actions = ActionPool(lake.clock, self._announce_action)
        self.stop = threading.Event()
        self._over = threading.Event()
        self.explaining = CapacityLimiter(1)
        self._schedules = scheduler
        self._scheduler: threading.Thread | None = None
        self._watcher: threading.Thread | None = None
        self._term: int | None = None
        self.metrics.register_gauges(self._read_gauges)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to schedule and to watch."""
        pulse = self.lake.pulse()
        self._watcher = threading.Thread(
            target=self._watch_lake, args=(pulse,), name="anabranch-watcher", daemon=True
        )
        self._watcher.start()
        if self._schedules:
            self._scheduler = threading.Thread(
                target=self._run_scheduler, name="anabranch-scheduler", daemon=True
            )
            self._scheduler.start()

    def close(self, patience: float) -> bool:
        """Stop; whether what ran was finished in time. What wasn't is abandoned: none of it is visible."""
        deadline = read_stopwatch() + patience
        self.stop.set()
        self.events.close()
        done = self.actions.close(patience)
        if self._scheduler is not None:
            self._scheduler.join(max(0.0, deadline - read_stopwatch()))
            done = done and not self._scheduler.is_alive()
        self._over.set()
        if self._watcher is not None:
            self._watcher.join(max(1.0, deadline - read_stopwatch()))
        if not done:
            log.warning("what ran was abandoned", extra={"fields": {"event": "stop", "patience": patience}})
        return done

    # -- the scheduler ------------------------------------------------------------------------

    def read_scheduler_state(self) -> SchedulerState:
        """`leading`, `waiting` for another scheduler to stop, or `stopped`."""
        if self._scheduler is None or not self._scheduler.is_alive() or self.stop.is_set():
            return "stopped"
        leader = self.lake.leading_scheduler()
        return "leading" if leader is not None and leader.term == self._term else "waiting"

    def is_scheduler_down(self) -> bool:
        """Whether it should schedule, and doesn't."""
        return self._schedules and (self._scheduler is None or not self._scheduler.is_alive())

    def record_step(self, event: Event) -> None:
        """Something the scheduler did."""
        if event.kind == "tick_started":
            self._term = event.detail["term"]
        self.metrics.count_step(event.kind)
        self.events.broadcast("step", {"kind": event.kind, "stream_table": event.stream_table})

    def _run_scheduler(self) -> None:
        while not self.stop.is_set():
            try:
                self.lake.run(observer=self.record_step, stop=self.stop)
            except AnabranchError as error:
                log.error(
                    "the scheduler stumbled", extra={"fields": {"event": "scheduler", "error": str(error)}}
                )
                self.stop.wait(PAUSE_AFTER_TROUBLE)
            except Exception:
                # A service that no longer schedules and doesn't say so would be worse.
                log.exception("the scheduler stumbled", extra={"fields": {"event": "scheduler"}})
                self.stop.wait(PAUSE_AFTER_TROUBLE)

    # -- the watcher --------------------------------------------------------------------------

    def _watch_lake(self, seen: Pulse) -> None:
        last = False
        while not last:
            # One look after the scheduler has stopped: what it did last is told, too.
            last = self._over.wait(POLL_SECONDS)
            try:
                now = self.lake.pulse()
                if now != seen:
                    self._announce_changes(seen, now)
                    seen = now
            except AnabranchError as error:
                log.warning(
                    "the lake can't be watched", extra={"fields": {"event": "watcher", "error": str(error)}}
                )
                self._over.wait(PAUSE_AFTER_TROUBLE)

    def _announce_changes(self, seen: Pulse, now: Pulse) -> None:
        """Count and log what was refreshed in between, and let everybody look again."""
        fresh = now.newest_refresh - seen.newest_refresh
        if fresh > 0:
            entries = self.lake.refresh_history(limit=min(fresh, MAX_TOLD))
            for entry in reversed([one for one in entries if one.refresh_id > seen.newest_refresh]):
                self.metrics.count_refresh(entry)
                log_refresh(entry)
        self.events.broadcast("lake", {"lsn": now.lsn})

    def _announce_action(self, action: ActionState) -> None:
        self.events.broadcast("action", action)

    def _read_gauges(self) -> Iterable[Metric]:
        return gauges(
            self.lake.lsn,
            self.lake.status(),
            self.read_scheduler_state(),
            len(self.events),
            self.lake.statements_run,
            self.metrics.label_for,
        )


def log_refresh(entry: RefreshRecord) -> None:
    """One line for one entry of the history."""
    fields = {
        "event": "refresh",
        "refresh_id": entry.refresh_id,
        "stream_table": entry.stream_table,
        "action": entry.action,
        "status": entry.status,
        "reason": entry.reason,
        "rows_inserted": entry.rows_inserted,
        "rows_deleted": entry.rows_deleted,
        "seconds": entry.seconds,
        "lsn": entry.lsn,
        "initiated_by": entry.initiated_by,
        "error_code": entry.error_code,
        "error": entry.error,
    }
    level = logging.ERROR if entry.status == "FAILED" else logging.INFO
    log.log(level, "refresh", extra={"fields": fields})
