"""What a transaction says of its sources: not ready, ready, loaded up to a time.

It is written in the same commit as the transaction's rows, so neither is ever seen without the other. Without
rows it is a commit too, whose lsn wakes the schedulers; unless it changes nothing.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from anabranch.clock import Clock
from anabranch.errors import InputError, WatermarkBackwards, WriteConflict
from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.gates import open_gate, shut_gate
from anabranch.ledger.watermarks import read_last_watermark, store_watermark
from anabranch.names import TableName
from anabranch.streams.source_readiness import Watermark

MAX_SOURCES = 10_000


class NothingToDo(Exception):
    """Undoes a commit that would change nothing, before it has an lsn."""


@dataclass(frozen=True)
class ShutGate:
    """A source is not ready."""

    source: TableName
    by: str
    auto: bool

    def write_to_ledger(self, connection: Connection, _lsn: int, now: datetime) -> bool:
        """Write it down; whether that changed anything."""
        return shut_gate(connection, self.source, now=now, by=self.by, auto=self.auto)


@dataclass(frozen=True)
class OpenGate:
    """A source is ready."""

    source: TableName

    def write_to_ledger(self, connection: Connection, _lsn: int, now: datetime) -> bool:
        """Write it down; whether that changed anything."""
        return open_gate(connection, self.source, now=now)


@dataclass(frozen=True)
class AdvanceWatermark:
    """A source is loaded up to a time. That also opens a gate that was waiting for it."""

    source: TableName
    timestamp: datetime

    def write_to_ledger(self, connection: Connection, lsn: int, now: datetime) -> bool:
        """Write it down; whether that changed anything."""
        if not ledger.has_table(connection, self.source):
            raise WriteConflict(f'another writer dropped "{self.source}" meanwhile', hint="run it again.")
        last = read_last_watermark(connection, self.source)
        self.check_not_backwards(last)
        moved = last != self.timestamp
        if moved:
            store_watermark(connection, Watermark(self.source, self.timestamp, now, lsn))
        opened = open_gate(connection, self.source, now=now, auto=True)
        return moved or opened

    def check_not_backwards(self, last: datetime | None) -> None:
        """Refuse to go back."""
        if last is not None and self.timestamp < last:
            raise WatermarkBackwards(
                f'the watermark of "{self.source}" can\'t go back',
                detail=f"it is at {last.isoformat()}, and would be at {self.timestamp.isoformat()}.",
                hint="a source that is loaded anew is gated meanwhile: gate_source(name).",
            )


Said = ShutGate | OpenGate | AdvanceWatermark


class ReadinessChanges:
    """All that a transaction has said so far, in order."""

    def __init__(self) -> None:
        self._said: list[Said] = []

    def __bool__(self) -> bool:
        return bool(self._said)

    def add(self, said: Iterable[Said]) -> None:
        """Say something more."""
        self._said += said

    def last_watermark(self, source: TableName) -> datetime | None:
        """The last watermark of a source in this transaction."""
        mine = (each for each in reversed(self._said) if isinstance(each, AdvanceWatermark))
        return next((each.timestamp for each in mine if each.source == source), None)

    def forget_watermarks(self, source: TableName) -> None:
        """Forget the watermarks of a source that is dropped; its gate stays."""
        self._said = [
            each for each in self._said if not (isinstance(each, AdvanceWatermark) and each.source == source)
        ]

    def write_to_ledger(self, connection: Connection, lsn: int, clock: Clock, *, alone: bool) -> None:
        """Write it all down. `alone`, it must have changed something."""
        now = clock.now()
        changed = [each.write_to_ledger(connection, lsn, now) for each in self._said]
        if alone and not any(changed):
            raise NothingToDo


def check_flag(argument: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{argument} is True or False")


def parse_names(names: object) -> list[str]:
    """Several names, given as a list."""
    if isinstance(names, str | bytes) or not isinstance(names, Sequence) or len(names) > MAX_SOURCES:
        raise InputError(f"sources are named by a list of up to {MAX_SOURCES} names")
    return list(names)


def caller_identity() -> str:
    """The user and the machine that this process runs as."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A user id that nobody has a name for, as in some containers.
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    return f"{user}@{socket.gethostname()}"
