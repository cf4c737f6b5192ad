"""One pass over some stream tables: the lsn it reads at, and what it has published since.

Everything in a pass reads the lake as of one pinned lsn. What the pass itself publishes comes on top, so that
a stream table sees its upstream as the pass left it, and never what others wrote in the meantime.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.errors import CommitError, FencedOff
from anabranch.events import Event, Observer
from anabranch.gates.readiness import NOTHING_SAID, Readiness
from anabranch.ledger import leases, pins
from anabranch.ledger.database import Connection
from anabranch.ledger.records import Fence, Moment, Version
from anabranch.ledger.streams import StreamTable, read_streams
from anabranch.ledger.watermarks import read_readiness
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.hold import not_ready
from anabranch.storage.commit import CreateTable, NewVersion, Step

if TYPE_CHECKING:
    from anabranch.refresh.definitions import Definitions


@dataclass(frozen=True)
class Seen:
    """One moment, and what was known of the stream tables in it."""

    moment: Moment
    streams: Mapping[TableName, StreamTable]


@dataclass
class Pass:
    """What is read, and in whose name. Units that run side by side share one."""

    parts: Parts
    definitions: Definitions
    moment: Moment
    streams: dict[TableName, StreamTable]
    initiated_by: str
    fence: Fence | None = None
    watermark: int | None = None
    observer: Observer = field(default=lambda event: None)
    bound: bool = True
    """Whether nothing in it reads past the lsn it began with."""
    published: dict[TableName, Version] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _observers_errors: list[Exception] = field(default_factory=list)

    @property
    def seen(self) -> Seen:
        """What there is to be read now."""
        with self._lock:
            return Seen(self.moment, self.streams)

    @cached_property
    def waiting(self) -> Mapping[TableName, str]:
        """Which stream tables wait for their sources as of the moment it began with, and why."""
        return not_ready(self.streams, self.moment)

    def say(self, kind: str, name: TableName | None = None, **detail: object) -> None:
        """Tell the observers of the lake and of this pass. What they raise is no failure of a refresh."""
        event = Event(kind, None if name is None else str(name), detail=detail)
        try:
            self.parts.observer(event)
            self.observer(event)
        except Exception as error:
            self._observers_errors.append(error)
            raise

    def is_observers(self, error: Exception) -> bool:
        """Whether an observer raised it."""
        return any(error is other for other in self._observers_errors)

    def take(self, steps: tuple[Step, ...], lsn: int, streams: Mapping[TableName, StreamTable]) -> None:
        """Take in what was just published."""
        with self._lock:
            for step in steps:
                if isinstance(step, NewVersion | CreateTable):
                    self.published[step.name] = self._version(step, lsn)
            self.moment = replace(self.moment, versions={**self.moment.versions, **self.published})
            self.streams = {**self.streams, **streams}

    def know(self, streams: Iterable[StreamTable]) -> None:
        """Take in what became known of stream tables."""
        with self._lock:
            self.streams = {**self.streams, **{stream.name: stream for stream in streams}}

    def _version(self, step: NewVersion | CreateTable, lsn: int) -> Version:
        kind = step.kind if isinstance(step, CreateTable) else self.moment.versions[step.name].kind
        return Version(
            table_id=step.table_id,
            name=step.name,
            kind=kind,
            schema=step.schema,
            lsn=lsn,
            snapshot_id=step.staged.snapshot_id,
            rows=step.staged.rows,
            metadata_location=step.staged.metadata_location,
        )


@contextmanager
def noting(parts: Parts, fence: Fence | None) -> Iterator[Connection]:
    """A transaction for what is noted outside of commits; refused, as those are, to one who leads no more."""
    with parts.catalog.database.writing() as connection:
        if fence is not None and not leases.holds(connection, fence):
            raise fenced_off(fence)
        yield connection


def fenced_off(fence: Fence) -> FencedOff:
    """What one hears who was overtaken by another scheduler."""
    return FencedOff(f"the lease {fence.lease} has passed to another holder")


def newest(parts: Parts) -> tuple[Moment, dict[TableName, StreamTable]]:
    """The newest moment, with which sources are ready in it, and the stream tables as of it."""
    moment, (streams, readiness) = parts.catalog.moment_and(_known)
    return replace(moment, readiness=readiness), streams


def _known(connection: Connection) -> tuple[dict[TableName, StreamTable], Readiness]:
    return read_streams(connection), read_readiness(connection)


@contextmanager
def pinned(parts: Parts) -> Iterator[tuple[Moment, dict[TableName, StreamTable]]]:
    """The newest moment and the stream tables as of it, held against expiry until the end."""
    pin = parts.clock.new_id()
    streams: dict[TableName, StreamTable] = {}
    readiness = NOTHING_SAID

    def hold(connection: Connection, lsn: int) -> None:
        expires = parts.clock.now() + parts.settings["pin_lifetime"]
        holder = f"{socket.gethostname()}:{os.getpid()}"[:255]
        pins.pin(connection, pin=pin, lsn=lsn, kind="refresh", holder=holder, expires_at=expires)

    def look_and_hold(connection: Connection, lsn: int) -> None:
        nonlocal streams, readiness
        streams, readiness = _known(connection)
        hold(connection, lsn)

    moment = replace(parts.catalog.moment_pinned(None, look_and_hold), readiness=readiness)
    done = threading.Event()
    renewing = threading.Thread(target=_renew, args=(parts, hold, moment.lsn, done), daemon=True)
    renewing.start()
    try:
        yield moment, streams
    finally:
        done.set()
        renewing.join()
        with parts.catalog.database.writing() as connection:
            pins.unpin(connection, pin)


def _renew(parts: Parts, hold: Callable[[Connection, int], None], lsn: int, done: threading.Event) -> None:
    """Hold on for work that takes longer than a pin lasts."""
    while not done.wait(parts.settings["pin_lifetime"].total_seconds() / 2):
        with suppress(CommitError), parts.catalog.database.writing() as connection:
            hold(connection, lsn)
