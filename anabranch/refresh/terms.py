"""At which lsn the members of a group read.

A diamond reads one lsn. A declared group says which it wants: `repeatable_read`, one lsn for all when the
group begins; or `read_committed`, for each member what is newest when it begins. Inside a tick that is bound
to the lsn it began with, both are that one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

from anabranch.errors import Notice
from anabranch.ledger.declared import REPEATABLE_READ, RefreshGroup
from anabranch.ledger.streams import StreamTable
from anabranch.names import TableName
from anabranch.refresh.hold import not_ready
from anabranch.refresh.passes import Pass, Seen, pinned


@dataclass(frozen=True)
class Terms:
    """Whether all members read one lsn, and for how long it may be held (None: for ever)."""

    one_lsn: bool = True
    timeout: timedelta | None = None
    group: str = ""


def terms_of(
    members: Iterable[TableName],
    streams: Mapping[TableName, StreamTable],
    declared: Mapping[str, RefreshGroup],
) -> Terms:
    """What the declared groups among the members want; of several, the strictest."""
    names = {streams[name].declared for name in members if name in streams}
    groups = [declared[name] for name in sorted(filter(None, names)) if name in declared]
    if not groups:
        return Terms()
    timeouts = [group.snapshot_timeout_ms for group in groups if group.snapshot_timeout_ms]
    return Terms(
        any(group.isolation == REPEATABLE_READ for group in groups),
        timedelta(milliseconds=min(timeouts)) if timeouts else None,
        ", ".join(group.name for group in groups),
    )


class View:
    """What a member that begins now reads. What it shows is held until `held` is closed."""

    def __init__(
        self, a_pass: Pass, terms: Terms, held: ExitStack, members: Iterable[TableName] = ()
    ) -> None:
        self._pass, self._terms, self._held = a_pass, terms, held
        self._members = tuple(members)
        self._began = a_pass.parts.clock.now()
        self._at_once = self._newest = a_pass.seen
        self._lock = threading.Lock()
        self.late = False
        """Whether the one lsn was held for too long, and given up."""

    def __call__(self) -> Seen:
        """The moment to read, and the stream tables as of it."""
        with self._lock:
            self._look_at_the_clock()
            if self._pass.bound or (self._terms.one_lsn and not self.late):
                return self._at_once
            moment, streams = self._held.enter_context(pinned(self._pass.parts))
            # What began before a source was gated goes on, but reads nothing that came after.
            if not_ready(streams, moment).keys().isdisjoint(self._members):
                self._newest = Seen(moment, streams)
            return self._newest

    def _look_at_the_clock(self) -> None:
        timeout = self._terms.timeout
        if self.late or timeout is None or not self._terms.one_lsn:
            return
        if self._pass.parts.clock.now() - self._began > timeout:
            self.late = True
            text = f'the group "{self._terms.group}" held its snapshot for longer than {self.limit}: '
            warnings.warn(Notice(text + "it goes on as read_committed for this tick"), stacklevel=2)

    @property
    def limit(self) -> str:
        """How long it might have been held."""
        timeout = self._terms.timeout or timedelta(0)
        return f"{timeout // timedelta(milliseconds=1)} ms"
