"""A refresh run over some stream tables: the lsn it reads at, and what it has published since.

Everything in a run reads the lake as of one pinned lsn. What the run itself publishes comes on top, so that a
stream table sees its upstream as the run left it, and never what others wrote in the meantime.
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

from anabranch.commit.group_commit import CreateTable, NewVersion, Step
from anabranch.connection.lake_context import LakeContext
from anabranch.errors import CommitError, FencedOff
from anabranch.events import Event, Observer
from anabranch.ledger import leases, pins
from anabranch.ledger.database import Connection
from anabranch.ledger.records import Fence
from anabranch.ledger.stream_tables import read_streams
from anabranch.ledger.watermarks import read_readiness
from anabranch.names import TableName
from anabranch.streams.hold_reasons import reasons_not_ready
from anabranch.streams.source_readiness import NOTHING_SAID, Readiness
from anabranch.streams.state import State
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion, TableVersion

if TYPE_CHECKING:
    from anabranch.refresh.definition_cache import DefinitionCache


@dataclass
class RefreshRun:
    """The state that is read, and on whose behalf. Units that run in parallel share one."""

    context: LakeContext
    definitions: DefinitionCache
    lake_version: LakeVersion
    streams: dict[TableName, StreamTable]
    initiated_by: str
    fence: Fence | None = None
    watermark: int | None = None
    observer: Observer = field(default=lambda event: None)
    bound: bool = True
    """Whether nothing in it reads past the lsn it began with."""
    published: dict[TableName, TableVersion] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _observers_errors: list[Exception] = field(default_factory=list)

    @property
    def current_state(self) -> State:
        """The state to read now: the lake version and its stream tables."""
        with self._lock:
            return State(self.lake_version, self.streams)

    @cached_property
    def waiting_reasons(self) -> Mapping[TableName, str]:
        """Which stream tables wait for their sources as of the lake version it began with, and why."""
        return reasons_not_ready(self.streams, self.lake_version)

    def notify_observers(self, kind: str, name: TableName | None = None, **detail: object) -> None:
        """Tell the observers of the lake and of this run. What they raise is no failure of a refresh."""
        event = Event(kind, None if name is None else str(name), detail=detail)
        try:
            self.context.observer(event)
            self.observer(event)
        except Exception as error:
            self._observers_errors.append(error)
            raise

    def is_observer_error(self, error: Exception) -> bool:
        """Whether an observer raised it."""
        return any(error is other for other in self._observers_errors)

    def add_published(
        self, steps: tuple[Step, ...], lsn: int, streams: Mapping[TableName, StreamTable]
    ) -> None:
        """Add what was just published to the state."""
        with self._lock:
            for step in steps:
                if isinstance(step, NewVersion | CreateTable):
                    self.published[step.name] = self._published_version(step, lsn)
            self.lake_version = replace(
                self.lake_version, versions={**self.lake_version.versions, **self.published}
            )
            self.streams = {**self.streams, **streams}

    def update_streams(self, streams: Iterable[StreamTable]) -> None:
        """Replace the records of some stream tables in the state."""
        with self._lock:
            self.streams = {**self.streams, **{stream.name: stream for stream in streams}}

    def _published_version(self, step: NewVersion | CreateTable, lsn: int) -> TableVersion:
        kind = step.kind if isinstance(step, CreateTable) else self.lake_version.versions[step.name].kind
        return TableVersion(
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
def open_fenced_transaction(context: LakeContext, fence: Fence | None) -> Iterator[Connection]:
    """A transaction for notes outside of commits; refused, as commits are, if the lease has passed on."""
    with context.catalog.database.begin_write() as connection:
        if fence is not None and not leases.is_fence_valid(connection, fence):
            raise fenced_off_error(fence)
        yield connection


def fenced_off_error(fence: Fence) -> FencedOff:
    """The error for a scheduler whose lease another one has taken."""
    return FencedOff(f"the lease {fence.lease} has passed to another holder")


def read_newest_state(context: LakeContext) -> tuple[LakeVersion, dict[TableName, StreamTable]]:
    """The newest lake version, with the readiness of its sources, and the stream tables as of it."""
    lake_version, (streams, readiness) = context.catalog.lake_version_and_query(_read_streams_and_readiness)
    return replace(lake_version, readiness=readiness), streams


def _read_streams_and_readiness(connection: Connection) -> tuple[dict[TableName, StreamTable], Readiness]:
    return read_streams(connection), read_readiness(connection)


@contextmanager
def pin_lake_version(context: LakeContext) -> Iterator[tuple[LakeVersion, dict[TableName, StreamTable]]]:
    """The newest lake version and the stream tables as of it, pinned until the end."""
    pin = context.clock.new_id()
    streams: dict[TableName, StreamTable] = {}
    readiness = NOTHING_SAID

    def write_pin(connection: Connection, lsn: int) -> None:
        expires = context.clock.now() + context.settings["pin_lifetime"]
        holder = f"{socket.gethostname()}:{os.getpid()}"[:255]
        pins.store_pin(connection, pin=pin, lsn=lsn, kind="refresh", holder=holder, expires_at=expires)

    def read_and_pin(connection: Connection, lsn: int) -> None:
        nonlocal streams, readiness
        streams, readiness = _read_streams_and_readiness(connection)
        write_pin(connection, lsn)

    lake_version = replace(context.catalog.lake_version_with_pin(None, read_and_pin), readiness=readiness)
    done = threading.Event()
    renewing = threading.Thread(
        target=_renew_pin, args=(context, write_pin, lake_version.lsn, done), daemon=True
    )
    renewing.start()
    try:
        yield lake_version, streams
    finally:
        done.set()
        renewing.join()
        with context.catalog.database.begin_write() as connection:
            pins.remove_pin(connection, pin)


def _renew_pin(
    context: LakeContext, hold: Callable[[Connection, int], None], lsn: int, done: threading.Event
) -> None:
    """Renew a pin for work that takes longer than the pin lasts."""
    while not done.wait(context.settings["pin_lifetime"].total_seconds() / 2):
        with suppress(CommitError), context.catalog.database.begin_write() as connection:
            hold(connection, lsn)
