"""Actions: work that outlasts a request. A few run at a time, some wait, and what became of them is kept."""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from anabranch.clock import Clock, read_stopwatch
from anabranch.errors import AlreadyRunning, AnabranchError, ServiceBusy, ServiceFailed, UnknownAction
from anabranch.web.responses import error_fields

WORKERS = 2
MAX_WAITING = 32
MAX_KEPT = 1000
KEPT_FOR = timedelta(hours=1)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ActionState:
    """One action, and what became of it."""

    id: str
    kind: str
    """`refresh` or `tick`."""
    name: str | None
    """The stream table."""
    state: str
    """`running`, `succeeded` or `failed`."""
    error: dict[str, str | None] | None
    result: Any
    """What the lake's method gave, once it has."""
    started_at: datetime
    finished_at: datetime | None


class ActionPool:
    """A bounded pool of workers and the memory of what they did."""

    def __init__(self, clock: Clock, finished: Callable[[ActionState], None]) -> None:
        self._clock = clock
        self._finished = finished
        self._lock = threading.Lock()
        self._known: OrderedDict[str, ActionState] = OrderedDict()
        self._running: dict[tuple[str, str | None], str] = {}
        self._waiting: queue.Queue[tuple[ActionState, Callable[[], object]] | None] = queue.Queue()
        self._workers: list[threading.Thread] = []
        self._closed = False

    def start(self, kind: str, name: str | None, work: Callable[[], object]) -> ActionState:
        """Begin an action, unless it runs already or too many wait."""
        with self._lock:
            if (kind, name) in self._running:
                what = kind if name is None else f'{kind} of "{name}"'
                raise AlreadyRunning(
                    f"a {what} is running already", hint=f"follow it: action {self._running[kind, name]}."
                )
            if self._closed or len(self._running) >= MAX_WAITING + WORKERS:
                raise ServiceBusy("no more actions are taken on now", hint="try again when some are done.")
            state = ActionState(
                self._clock.new_id(), kind, name, "running", None, None, self._clock.now(), None
            )
            self._running[kind, name] = state.id
            self._known[state.id] = state
            self._forget_old_actions()
            if len(self._workers) < WORKERS:
                # Daemons: one that is stuck in a refresh must not keep a stopped service alive.
                worker = threading.Thread(
                    target=self._run_worker, name=f"anabranch-action-{len(self._workers)}", daemon=True
                )
                self._workers.append(worker)
                worker.start()
        self._waiting.put((state, work))
        return state

    def get(self, action: str) -> ActionState:
        """What is known of an action."""
        with self._lock:
            self._forget_old_actions()
            found = self._known.get(action)
        if found is None:
            raise UnknownAction("there is no such action", detail="what became of one is kept for an hour.")
        return found

    def close(self, patience: float) -> bool:
        """Take on nothing more and wait for what runs; whether all of it ended in time."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        while True:
            try:
                left = self._waiting.get_nowait()
            except queue.Empty:
                break
            if left is not None:
                gone = ServiceBusy("the service was stopped before the action began")
                self._finish_action(replace(left[0], state="failed", error=error_fields(gone)))
        for _ in workers:
            self._waiting.put(None)
        deadline = read_stopwatch() + patience
        for worker in workers:
            worker.join(max(0.0, deadline - read_stopwatch()))
        return not any(worker.is_alive() for worker in workers)

    def _run_worker(self) -> None:
        while (item := self._waiting.get()) is not None:
            state, work = item
            try:
                done = replace(state, state="succeeded", result=work())
            except AnabranchError as error:
                done = replace(state, state="failed", error=error_fields(error))
            except Exception:
                log.exception("an action failed", extra={"fields": {"action": state.id, "kind": state.kind}})
                unforeseen = ServiceFailed("the action failed", hint="the service's log says why.")
                done = replace(state, state="failed", error=error_fields(unforeseen))
            self._finish_action(done)

    def _finish_action(self, done: ActionState) -> None:
        done = replace(done, finished_at=self._clock.now())
        with self._lock:
            self._known[done.id] = done
            self._running.pop((done.kind, done.name), None)
        self._finished(done)

    def _forget_old_actions(self) -> None:
        """What was done long ago, or is too much to keep; never what runs."""
        before = self._clock.now() - KEPT_FOR
        settled = [known for known in self._known.values() if known.finished_at is not None]
        surplus = len(self._known) - MAX_KEPT
        for place, known in enumerate(settled):
            if place < surplus or (known.finished_at is not None and known.finished_at < before):
                del self._known[known.id]
