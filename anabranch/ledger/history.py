"""The history of refreshes: what was done or left undone, why, and from where to where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from anabranch.ledger import tables as t
from anabranch.ledger.stream_tables import format_frontier, format_reads, parse_frontier, parse_reads
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.names import TableName
from anabranch.streams.stream_table import Read, StreamTable

FULL, DIFFERENTIAL, REINITIALIZE = "FULL", "DIFFERENTIAL", "REINITIALIZE"
IMMEDIATE, NO_DATA, SKIP = "IMMEDIATE", "NO_DATA", "SKIP"
SUCCEEDED, FAILED, ROLLED_BACK, SKIPPED = "SUCCEEDED", "FAILED", "ROLLED_BACK", "SKIPPED"
MAX_ERROR_TEXT = 4_000
LOOKED_THROUGH = 10
"""How many entries are looked through for each that is wanted."""
MEASURED = (t.history.c.action, t.history.c.micros, t.history.c.estimated_micros, t.history.c.table_id)


@dataclass(frozen=True)
class Refresh:
    """One entry of the history; `since` and `until` are frontiers."""

    stream_table: TableName
    action: str
    status: str
    reason: str | None
    started_at: datetime
    finished_at: datetime
    initiated_by: str
    rows_inserted: int = 0
    rows_deleted: int = 0
    tick_watermark_lsn: int | None = None
    since: Mapping[TableName, int] = field(default_factory=dict)
    until: Mapping[TableName, int] = field(default_factory=dict)
    reads: Mapping[TableName, Read] = field(default_factory=dict)
    """The versions of the direct inputs."""
    lsn: int | None = None
    """The commit that made it visible."""
    group_id: int | None = None
    epoch: int | None = None
    scc_id: int | None = None
    fixpoint_iteration: int | None = None
    error_code: str | None = None
    error: str | None = None
    seconds: float = 0.0
    rows_changed: int = 0
    rows_read: int = 0
    rows_stored: int = 0
    table_id: str | None = None
    """The table that has its contents: a later one may take the name."""
    estimated_seconds: float | None = None
    """What it was expected to take, by sizes alone; None: nothing is learned from what it took."""
    refresh_id: int = 0


@dataclass(frozen=True)
class MeasuredRefresh:
    """What a refresh took, and what it was expected to take; None: nothing is learned from it."""

    action: str
    seconds: float
    estimated_seconds: float | None
    table_id: str | None


def no_progress_entry(
    stream: StreamTable, action: str, status: str, reason: str | None, now: datetime, initiated_by: str
) -> Refresh:
    """An entry for a stream table that stays where it is."""
    return Refresh(
        stream_table=stream.name,
        action=action,
        status=status,
        reason=reason,
        started_at=now,
        finished_at=now,
        initiated_by=initiated_by,
        since=stream.frontier,
        scc_id=stream.scc_id,
        until=stream.frontier,
        reads=stream.reads or {},
    )


def add_refreshes(connection: Connection, refreshes: Iterable[Refresh]) -> None:
    """Enter them, in order. Inside a `begin_write` transaction no two get the same number."""
    entries = list(refreshes)
    if not entries:
        return
    first = int(connection.scalar(select(func.max(t.history.c.refresh_id))) or 0) + 1
    connection.execute(
        insert(t.history),
        [_row_values(replace(entry, refresh_id=first + place)) for place, entry in enumerate(entries)],
    )


def read_refreshes(connection: Connection, name: TableName | None, limit: int) -> list[Refresh]:
    """The newest entries, of one stream table or of all, newest first."""
    wanted = select(t.history).order_by(t.history.c.refresh_id.desc()).limit(limit)
    if name is not None:
        wanted = wanted.where(t.history.c.namespace == name.namespace, t.history.c.name == name.table)
    return [_refresh_from_row(row) for row in connection.execute(wanted)]


def read_measured_refreshes(
    connection: Connection, name: TableName, table_id: str, limit: int
) -> list[MeasuredRefresh]:
    """The newest refreshes of one table that succeeded, newest first.

    An earlier table of its name is another one.
    """
    wanted = (
        select(*MEASURED)
        .where(
            t.history.c.namespace == name.namespace,
            t.history.c.name == name.table,
            t.history.c.table_id == table_id,
            t.history.c.status == SUCCEEDED,
            t.history.c.action.in_((FULL, REINITIALIZE, DIFFERENTIAL)),
        )
        .order_by(t.history.c.refresh_id.desc())
        .limit(limit)
    )
    return [_measured_from_row(row) for row in connection.execute(wanted)]


def read_estimated_refreshes(connection: Connection, limit: int) -> list[MeasuredRefresh]:
    """The newest refreshes of all stream tables from which something is learned, newest first.

    Only the newest entries are looked through: most may be of tables that nothing is estimated for.
    """
    newest = select(func.max(t.history.c.refresh_id)).scalar_subquery()
    wanted = (
        select(*MEASURED)
        .where(
            t.history.c.refresh_id > newest - LOOKED_THROUGH * limit,
            t.history.c.estimated_micros.is_not(None),
            t.history.c.status == SUCCEEDED,
        )
        .order_by(t.history.c.refresh_id.desc())
        .limit(limit)
    )
    return [_measured_from_row(row) for row in connection.execute(wanted)]


def _measured_from_row(row: Any) -> MeasuredRefresh:
    return MeasuredRefresh(row.action, row.micros / 1_000_000, _seconds(row.estimated_micros), row.table_id)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1_000_000


def forget_refreshes(connection: Connection, before: datetime) -> None:
    """Forget what finished long ago."""
    connection.execute(delete(t.history).where(t.history.c.finished_at < to_micros(before)))


def _row_values(entry: Refresh) -> dict[str, Any]:
    return {
        "refresh_id": entry.refresh_id,
        "namespace": entry.stream_table.namespace,
        "name": entry.stream_table.table,
        "action": entry.action,
        "status": entry.status,
        "reason": entry.reason,
        "started_at": to_micros(entry.started_at),
        "finished_at": to_micros(entry.finished_at),
        "micros": round(entry.seconds * 1_000_000),
        "rows_inserted": entry.rows_inserted,
        "rows_deleted": entry.rows_deleted,
        "rows_changed": entry.rows_changed,
        "rows_read": entry.rows_read,
        "rows_stored": entry.rows_stored,
        "tick_watermark_lsn": entry.tick_watermark_lsn,
        "since": format_frontier(entry.since),
        "until": format_frontier(entry.until),
        "reads": format_reads(entry.reads),
        "lsn": entry.lsn,
        "group_id": entry.group_id,
        "epoch": entry.epoch,
        "scc_id": entry.scc_id,
        "fixpoint_iteration": entry.fixpoint_iteration,
        "initiated_by": entry.initiated_by,
        "error_code": entry.error_code,
        "error": None if entry.error is None else entry.error[:MAX_ERROR_TEXT],
        "table_id": entry.table_id,
        "estimated_micros": (
            None if entry.estimated_seconds is None else round(entry.estimated_seconds * 1_000_000)
        ),
    }


def _refresh_from_row(row: Any) -> Refresh:
    return Refresh(
        refresh_id=row.refresh_id,
        stream_table=TableName(row.namespace, row.name),
        action=row.action,
        status=row.status,
        reason=row.reason,
        started_at=from_micros(row.started_at),
        finished_at=from_micros(row.finished_at),
        seconds=row.micros / 1_000_000,
        rows_inserted=row.rows_inserted,
        rows_deleted=row.rows_deleted,
        rows_changed=row.rows_changed,
        rows_read=row.rows_read,
        rows_stored=row.rows_stored,
        tick_watermark_lsn=row.tick_watermark_lsn,
        since=parse_frontier(row.since),
        until=parse_frontier(row.until),
        reads=parse_reads(row.reads),
        lsn=row.lsn,
        group_id=row.group_id,
        epoch=row.epoch,
        scc_id=row.scc_id,
        fixpoint_iteration=row.fixpoint_iteration,
        initiated_by=row.initiated_by,
        error_code=row.error_code,
        error=row.error,
        table_id=row.table_id,
        estimated_seconds=_seconds(row.estimated_micros),
    )
