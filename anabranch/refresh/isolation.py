"""At which lsn the members of a group read.

A diamond reads one lsn. A declared group says which it wants: `repeatable_read`, one lsn for all when the
group begins; or `read_committed`, for each member what is newest when it begins. Inside a tick that is bound
to the lsn it began with, both read that one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

from anabranch.errors import Notice
from anabranch.ledger.declared_groups import REPEATABLE_READ, RefreshGroup
from anabranch.names import TableName
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.streams.hold_reasons import reasons_not_ready
from anabranch.streams.state import State
from anabranch.streams.stream_table import StreamTable


@dataclass(frozen=True)
class Isolation:
    """Whether all members read one lsn, and for how long it may stay pinned (None: for ever)."""

    one_lsn: bool = True
    timeout: timedelta | None = None
    group: str = ""


def isolation_of(
    members: Iterable[TableName],
    streams: Mapping[TableName, StreamTable],
    declared: Mapping[str, RefreshGroup],
) -> Isolation:
    """What the declared groups among the members want; of several, the strictest."""
    names = {streams[name].declared for name in members if name in streams}
    groups = [declared[name] for name in sorted(filter(None, names)) if name in declared]
    if not groups:
        return Isolation()
    timeouts = [group.snapshot_timeout_ms for group in groups if group.snapshot_timeout_ms]
    return Isolation(
        any(group.isolation == REPEATABLE_READ for group in groups),
        timedelta(milliseconds=min(timeouts)) if timeouts else None,
        ", ".join(group.name for group in groups),
    )


class StateReader:
    """Tells a member that begins now what to read. That stays pinned until `held` is closed."""

    def __init__(
        self, refresh_run: RefreshRun, terms: Isolation, held: ExitStack, members: Iterable[TableName] = ()
    ) -> None:
        self._refresh_run, self._terms, self._held = refresh_run, terms, held
        self._members = tuple(members)
        self._began = refresh_run.context.clock.now()
        self._at_once = self._newest = refresh_run.current_state
        self._lock = threading.Lock()
        self.late = False
        """Whether the one lsn was pinned for too long, and given up."""

    def __call__(self) -> State:
        """The lake version to read, and the stream tables as of it."""
        with self._lock:
            self._warn_if_timed_out()
            if self._refresh_run.bound or (self._terms.one_lsn and not self.late):
                return self._at_once
            lake_version, streams = self._held.enter_context(pin_lake_version(self._refresh_run.context))
            # A refresh that began before a source was gated goes on, but reads nothing newer than that.
            if reasons_not_ready(streams, lake_version).keys().isdisjoint(self._members):
                self._newest = State(lake_version, streams)
            return self._newest

    def _warn_if_timed_out(self) -> None:
        timeout = self._terms.timeout
        if self.late or timeout is None or not self._terms.one_lsn:
            return
        if self._refresh_run.context.clock.now() - self._began > timeout:
            self.late = True
            text = f'the group "{self._terms.group}" held its snapshot for longer than {self.timeout_text}: '
            warnings.warn(Notice(text + "it goes on as read_committed for this tick"), stacklevel=2)

    @property
    def timeout_text(self) -> str:
        """How long the lsn may stay pinned."""
        timeout = self._terms.timeout or timedelta(0)
        return f"{timeout // timedelta(milliseconds=1)} ms"
