"""What was refreshed, when, from where to where, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InputError
from anabranch.ledger.history import Refresh, read_refreshes
from anabranch.listing import Listing
from anabranch.names import TableName

MAX_LISTED = 1_000_000


@dataclass(frozen=True)
class RefreshRecord:
    """One refresh; `since` and `until` say which lsn of every base source the contents reflect."""

    shown: ClassVar = (
        "refresh_id",
        "stream_table",
        "action",
        "status",
        "rows_inserted",
        "rows_deleted",
        "started_at",
        "seconds",
        "reason",
    )
    refresh_id: int
    stream_table: str
    action: str
    """`FULL`, `DIFFERENTIAL`, `REINITIALIZE`, `IMMEDIATE`, `NO_DATA` or `SKIP`."""
    status: str
    """`SUCCEEDED`, `FAILED`, `ROLLED_BACK` (another member of its group failed) or `SKIPPED`."""
    reason: str | None
    """Why this action, or why none."""
    started_at: datetime
    finished_at: datetime
    rows_inserted: int
    rows_deleted: int
    tick_watermark_lsn: int | None
    """The lsn past which its tick read nothing."""
    since: Mapping[str, int]
    """The frontier before."""
    until: Mapping[str, int]
    """The frontier after."""
    group_id: int | None
    epoch: int | None
    """How many times its group had published, with this."""
    scc_id: int | None
    fixpoint_iteration: int | None
    """In a cycle: how many iterations it took."""
    initiated_by: str
    """`create`, `manual`, `scheduler` or `writer`."""
    error_code: str | None
    error: str | None
    lsn: int | None
    """The commit that made it visible; None if there was nothing to show."""
    seconds: float


def read_refresh_history(
    context: LakeContext, name: str | None = None, limit: int = 100
) -> list[RefreshRecord]:
    """The newest refreshes, of one stream table or of all, newest first."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LISTED:
        raise InputError(f"a limit is a number from 1 to {MAX_LISTED}")
    wanted = None if name is None else TableName.parse(name)
    with context.catalog.database.begin_read() as connection:
        return Listing(map(_refresh_record, read_refreshes(connection, wanted, limit)))


def _refresh_record(entry: Refresh) -> RefreshRecord:
    return RefreshRecord(
        refresh_id=entry.refresh_id,
        stream_table=str(entry.stream_table),
        action=entry.action,
        status=entry.status,
        reason=entry.reason,
        started_at=entry.started_at,
        finished_at=entry.finished_at,
        rows_inserted=entry.rows_inserted,
        rows_deleted=entry.rows_deleted,
        tick_watermark_lsn=entry.tick_watermark_lsn,
        since={str(source): lsn for source, lsn in entry.since.items()},
        until={str(source): lsn for source, lsn in entry.until.items()},
        group_id=entry.group_id,
        epoch=entry.epoch,
        scc_id=entry.scc_id,
        fixpoint_iteration=entry.fixpoint_iteration,
        initiated_by=entry.initiated_by,
        error_code=entry.error_code,
        error=entry.error,
        lsn=entry.lsn,
        seconds=entry.seconds,
    )
