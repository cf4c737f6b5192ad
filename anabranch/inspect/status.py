"""How the stream tables are doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.fuses import fuse_state, skipped_changes_reason
from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.stream_tables import read_streams
from anabranch.ledger.watermarks import read_readiness
from anabranch.listing import Listing
from anabranch.names import TableName
from anabranch.refresh.plan import changed_inputs
from anabranch.schedule.pending_work import schedules_in_force
from anabranch.schedule.schedules import format_schedule
from anabranch.streams.hold_reasons import gated_sources_by_stream
from anabranch.streams.source_readiness import Readiness
from anabranch.streams.stream_graph import graph_of
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion


@dataclass(frozen=True)
class StreamTableStatus:
    """One stream table: its state, its freshness, its trouble."""

    shown: ClassVar = (
        "name",
        "status",
        "effective_mode",
        "effective_schedule",
        "rows",
        "lag_seconds",
        "consecutive_failures",
        "held",
    )
    name: str
    status: str
    """`INITIALIZING`, `ACTIVE`, `SUSPENDED` or `ERROR`."""
    status_reason: str | None
    refresh_mode: str
    """As it was asked for."""
    effective_mode: str | None
    """What the last refresh did."""
    mode_reason: str | None
    schedule: str | None
    """As it was asked for; None: by hand."""
    effective_schedule: str | None
    """What `calculated` comes to."""
    last_refresh_at: datetime | None
    data_timestamp: datetime | None
    """Everything committed to its sources before this time is reflected."""
    lag_seconds: float | None
    """How long ago that is."""
    consecutive_failures: int
    """Scheduled refreshes that failed since the last that didn't."""
    last_error: str | None
    rows: int
    group_id: int | None
    """The group that it is published with; None if it moves alone."""
    scc_id: int | None
    """The cycle that it belongs to."""
    gated_by_sources: tuple[str, ...]
    """The gated sources, read directly or not, that it waits for."""
    fuse_state: str
    """`off`, `armed` or `blown`."""
    held: str | None
    """Why it, or its group, is not refreshed now."""


def read_status(context: LakeContext) -> list[StreamTableStatus]:
    """Every stream table, by name."""
    missed: dict[tuple[str, int], datetime | None] = {}

    def read_streams_and_readiness(connection: Connection) -> tuple[dict[TableName, StreamTable], Readiness]:
        streams = read_streams(connection)
        tables = {record.name: record for record in ledger.read_tables(connection)}
        for stream in streams.values():
            for source, lsn in stream.frontier.items():
                table = tables.get(source)
                # Most have read the newest there is: then nothing need be asked.
                if table is None or table.head_lsn <= lsn:
                    continue
                if (key := (table.table_id, lsn)) not in missed:
                    missed[key] = ledger.read_first_change_time(connection, *key)
        return streams, read_readiness(connection)

    lake_version, (streams, readiness) = context.catalog.lake_version_and_query(read_streams_and_readiness)
    lake_version = replace(lake_version, readiness=readiness)
    now = context.clock.now()
    schedules, gates = schedules_in_force(context, streams), gated_sources_by_stream(streams, lake_version)
    timestamps: dict[TableName, datetime | None] = {}
    graph = graph_of(streams.values())
    for name in graph.order():
        timestamps[name] = _data_timestamp(streams[name], lake_version, missed, timestamps, now)
    for members in graph.cycles:
        # None is fresher than what it is made from: the others.
        known = [when for name in members if (when := timestamps[name]) is not None]
        oldest = min(known) if len(known) == len(members) else None
        timestamps |= dict.fromkeys(members, oldest)
    found = []
    for name, stream in streams.items():
        timestamp = timestamps[name]
        version = lake_version.versions.get(name)
        found.append(
            StreamTableStatus(
                name=str(name),
                status=stream.status,
                status_reason=stream.status_reason or skipped_changes_reason(stream),
                refresh_mode=stream.options.refresh_mode,
                effective_mode=stream.effective_mode,
                mode_reason=stream.mode_reason,
                schedule=stream.options.schedule,
                effective_schedule=format_schedule(schedules[name]),
                last_refresh_at=stream.last_refresh_at,
                data_timestamp=timestamp,
                lag_seconds=None if timestamp is None else (now - timestamp).total_seconds(),
                consecutive_failures=stream.failures,
                last_error=stream.error,
                rows=0 if version is None else version.rows,
                group_id=stream.group_id,
                scc_id=stream.scc_id,
                gated_by_sources=tuple(map(str, gates.get(name, ()))),
                fuse_state=fuse_state(stream),
                held=stream.held,
            )
        )
    return Listing(found)


def _data_timestamp(
    stream: StreamTable,
    lake_version: LakeVersion,
    missed: Mapping[tuple[str, int], datetime | None],
    upstream: Mapping[TableName, datetime | None],
    now: datetime,
) -> datetime | None:
    """The time of the first commit that isn't reflected; now, if there is none."""
    if stream.reads is None:
        return None
    known = {name: lake_version.versions[name] for name in stream.inputs if name in lake_version.versions}
    if not changed_inputs(stream.reads, known):
        # It has read all there is: it is as fresh as what it reads, whatever that left out.
        return min((when for name in known if (when := upstream.get(name)) is not None), default=now)
    pending = [
        when
        for source, lsn in stream.frontier.items()
        if source in lake_version.versions
        and (when := missed.get((lake_version.versions[source].table_id, lsn))) is not None
    ]
    return min(pending, default=now)
