"""What keeps a stream table from being refreshed, in words that a person can act on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from anabranch.gates.waiting import made_from, waiting
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import ERROR, SUSPENDED, StreamTable
from anabranch.names import TableName
from anabranch.refresh.graphs import graph_of


def held_because(stream: StreamTable, now: datetime) -> str | None:
    """Why it can't be refreshed now, if it can't: what follows after its name."""
    if stream.status == SUSPENDED:
        return f"is suspended: {stream.status_reason or 'by hand'}"
    if stream.status == ERROR:
        return f"is in error: {stream.status_reason or stream.error or 'unknown'}"
    if stream.retry_at is not None and stream.retry_at > now:
        at = stream.retry_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"failed, and is tried again at {at}"
    return None


def not_ready(streams: Mapping[TableName, StreamTable], moment: Moment) -> dict[TableName, str]:
    """Those that wait for their sources, and why. What its writers maintain waits for nobody."""
    if not moment.readiness.shut and not moment.readiness.groups:
        return {}
    immediate = {name for name, stream in streams.items() if stream.immediate}
    return waiting(graph_of(streams.values()), moment.readiness, free=immediate, ignoring=_ignoring(streams))


def gated_by(
    streams: Mapping[TableName, StreamTable], moment: Moment
) -> dict[TableName, tuple[TableName, ...]]:
    """Those that wait for gated sources, each with their names."""
    if not moment.readiness.shut:
        return {}
    free = _ignoring(streams) | {name for name, stream in streams.items() if stream.immediate}
    found = made_from(graph_of(streams.values()), moment.readiness.shut)
    return {name: tuple(sources) for name, sources in found.items() if name not in free}


def _ignoring(streams: Mapping[TableName, StreamTable]) -> frozenset[TableName]:
    return frozenset(name for name, stream in streams.items() if stream.options.bootstrap_gating == "ignore")


def unreadable(
    stream: StreamTable,
    streams: Mapping[TableName, StreamTable],
    moment: Moment,
    together: Collection[TableName] = (),
) -> str | None:
    """Why it can't be computed: what it reads is gone, or not filled, but for those `together` with it."""
    for name in stream.inputs:
        if name not in moment.versions:
            return f'reads "{name}", which does not exist'
        above = streams.get(name)
        if above is not None and not above.filled and name not in together:
            return f'reads "{name}", which is not filled yet'
    return None
