"""What keeps a stream table from being refreshed, in words that a person can act on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from anabranch.names import TableName
from anabranch.streams.stream_graph import graph_of
from anabranch.streams.stream_table import ERROR, SUSPENDED, StreamTable
from anabranch.streams.versions import LakeVersion
from anabranch.streams.wait_reasons import find_wait_reasons, sources_by_stream_table


def hold_reason(stream: StreamTable, now: datetime) -> str | None:
    """Why it can't be refreshed now, if it can't: what follows after its name."""
    if stream.status == SUSPENDED:
        return f"is suspended: {stream.status_reason or 'by hand'}"
    if stream.status == ERROR:
        return f"is in error: {stream.status_reason or stream.error or 'unknown'}"
    if stream.retry_at is not None and stream.retry_at > now:
        at = stream.retry_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"failed, and is tried again at {at}"
    return None


def reasons_not_ready(
    streams: Mapping[TableName, StreamTable], lake_version: LakeVersion
) -> dict[TableName, str]:
    """Those that wait for their sources, and why. What its writers maintain waits for nobody."""
    if not lake_version.readiness.gated_sources and not lake_version.readiness.groups:
        return {}
    immediate = {name for name, stream in streams.items() if stream.is_immediate}
    return find_wait_reasons(
        graph_of(streams.values()),
        lake_version.readiness,
        free=immediate,
        ignoring=_gate_ignoring_streams(streams),
    )


def gated_sources_by_stream(
    streams: Mapping[TableName, StreamTable], lake_version: LakeVersion
) -> dict[TableName, tuple[TableName, ...]]:
    """Those that wait for gated sources, each with their names."""
    if not lake_version.readiness.gated_sources:
        return {}
    free = _gate_ignoring_streams(streams) | {name for name, stream in streams.items() if stream.is_immediate}
    found = sources_by_stream_table(graph_of(streams.values()), lake_version.readiness.gated_sources)
    return {name: tuple(sources) for name, sources in found.items() if name not in free}


def _gate_ignoring_streams(streams: Mapping[TableName, StreamTable]) -> frozenset[TableName]:
    return frozenset(name for name, stream in streams.items() if stream.options.bootstrap_gating == "ignore")


def unreadable_reason(
    stream: StreamTable,
    streams: Mapping[TableName, StreamTable],
    lake_version: LakeVersion,
    together: Collection[TableName] = (),
) -> str | None:
    """Why it can't be computed: what it reads is gone, or not filled, but for those `together` with it."""
    for name in stream.inputs:
        if name not in lake_version.versions:
            return f'reads "{name}", which does not exist'
        above = streams.get(name)
        if above is not None and not above.has_contents and name not in together:
            return f'reads "{name}", which is not filled yet'
    return None
