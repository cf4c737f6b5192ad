"""Suspending and resuming: what a person decides about a stream table."""

from __future__ import annotations

from dataclasses import replace

from anabranch.ledger.streams import ACTIVE, INITIALIZING, SUSPENDED, read_streams, store_status
from anabranch.parts import Parts
from anabranch.refresh.find import found


def suspend_stream_table(parts: Parts, name: str) -> None:
    """Refresh it no more until it is resumed; what is there stays readable."""
    with parts.catalog.database.writing() as connection:
        stream = found(read_streams(connection), name)
        if stream.status != SUSPENDED:
            store_status(connection, replace(stream, status=SUSPENDED, status_reason="by hand"))


def resume_stream_table(parts: Parts, name: str) -> None:
    """Refresh it again, from where it is: failures are forgotten, whatever the reason was."""
    with parts.catalog.database.writing() as connection:
        stream = found(read_streams(connection), name)
        status = ACTIVE if stream.filled else INITIALIZING
        armed = replace(
            stream,
            status=status,
            status_reason=None,
            failures=0,
            retry_at=None,
            error_code=None,
            error=None,
            held=None,
        )
        store_status(connection, armed)
