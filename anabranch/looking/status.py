"""How the stream tables are doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.streams import StreamTable, read_streams
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.schedule.schedules import show_schedule
from anabranch.schedule.tick import schedules_in_force


@dataclass(frozen=True)
class StreamTableStatus:
    """One stream table: its state, its freshness, its trouble."""

    name: str
    status: str
    status_reason: str | None
    refresh_mode: str
    effective_mode: str | None
    mode_reason: str | None
    schedule: str | None
    effective_schedule: str | None
    last_refresh_at: datetime | None
    data_timestamp: datetime | None
    """Everything committed to its sources before this time is reflected."""
    lag_seconds: float | None
    consecutive_failures: int
    last_error: str | None
    rows: int
    group_id: int | None
    scc_id: int | None
    gated_by_sources: tuple[str, ...]
    fuse_state: str
    held: str | None
    """Why it, or its group, is not refreshed at the moment."""


def status(parts: Parts) -> list[StreamTableStatus]:
    """Every stream table, by name."""
    streams: dict[TableName, StreamTable] = {}
    missed: dict[tuple[str, int], datetime | None] = {}

    def look(connection: Connection) -> None:
        nonlocal streams
        streams = read_streams(connection)
        ids = {record.name: record.table_id for record in ledger.read_tables(connection)}
        for stream in streams.values():
            for source, lsn in stream.frontier.items():
                if source in ids and (key := (ids[source], lsn)) not in missed:
                    missed[key] = ledger.first_change_after(connection, *key)

    moment = parts.catalog.moment_and(look)
    now = parts.clock.now()
    schedules = schedules_in_force(parts, streams)
    ids = {name: version.table_id for name, version in moment.versions.items()}
    found = []
    for name, stream in streams.items():
        timestamp = _data_timestamp(stream, ids, missed, now)
        version = moment.versions.get(name)
        found.append(
            StreamTableStatus(
                name=str(name),
                status=stream.status,
                status_reason=stream.status_reason,
                refresh_mode=stream.options.refresh_mode,
                effective_mode=stream.effective_mode,
                mode_reason=stream.mode_reason,
                schedule=stream.options.schedule,
                effective_schedule=show_schedule(schedules[name]),
                last_refresh_at=stream.last_refresh_at,
                data_timestamp=timestamp,
                lag_seconds=None if timestamp is None else (now - timestamp).total_seconds(),
                consecutive_failures=stream.failures,
                last_error=stream.error,
                rows=0 if version is None else version.rows,
                group_id=stream.group_id,
                scc_id=None,
                gated_by_sources=(),
                fuse_state=stream.options.fuse,
                held=stream.held,
            )
        )
    return found


def _data_timestamp(
    stream: StreamTable,
    ids: Mapping[TableName, str],
    missed: Mapping[tuple[str, int], datetime | None],
    now: datetime,
) -> datetime | None:
    """The time of the first commit that isn't reflected; now, if there is none."""
    if not stream.filled:
        return None
    pending = [
        when
        for source, lsn in stream.frontier.items()
        if source in ids and (when := missed.get((ids[source], lsn))) is not None
    ]
    return min(pending, default=now)
