"""Suspending and resuming: what a person decides about a stream table."""

from __future__ import annotations

from dataclasses import replace

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import NoFixpoint
from anabranch.ledger.stream_tables import read_streams, store_fuse, store_status
from anabranch.streams.arguments import find_stream
from anabranch.streams.stream_table import ACTIVE, INITIALIZING, SUSPENDED, StreamTable


def suspend_stream_table(context: LakeContext, name: str) -> None:
    """Refresh it no more until it is resumed; what is there stays readable."""
    with context.catalog.database.begin_write() as connection:
        stream = find_stream(read_streams(connection), name)
        if stream.status != SUSPENDED:
            store_status(connection, replace(stream, status=SUSPENDED, status_reason="by hand"))


def resume_stream_table(context: LakeContext, name: str) -> None:
    """Refresh it again, from where it is: failures are forgotten, a blown fuse is armed again.

    A cycle that found no fixed point stopped as one, and goes on as one.
    """
    with context.catalog.database.begin_write() as connection:
        streams = read_streams(connection)
        stream = find_stream(streams, name)
        together = [stream]
        if stream.scc_id is not None and stream.error_code == NoFixpoint.code:
            same = (stream.scc_id, stream.error_code)
            together = [other for other in streams.values() if (other.scc_id, other.error_code) == same]
        for each in together:
            armed = resumed_stream(each, each.fuse.reset)
            store_status(connection, armed)
            store_fuse(connection, armed)


def resumed_stream(stream: StreamTable, reset: str | None = None) -> StreamTable:
    """A stream table that is refreshed again; `reset` is what becomes of what its fuse had stopped."""
    return replace(
        stream,
        status=ACTIVE if stream.has_contents else INITIALIZING,
        status_reason=None,
        failures=0,
        retry_at=None,
        error_code=None,
        error=None,
        held=None,
        fuse=replace(stream.fuse, in_a_row=0, blown_at=None, reset=reset),
    )
