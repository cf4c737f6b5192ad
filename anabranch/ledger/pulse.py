"""A cheap way to tell whether anything changed: a few short columns, no text of a query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from anabranch.ledger import ledger
from anabranch.ledger import tables as t
from anabranch.ledger.timestamps import from_micros

_STREAM = t.stream_tables.c
_LOOKED_AT = (
    select(
        _STREAM.table_id,
        _STREAM.status,
        _STREAM.held,
        _STREAM.failures,
        _STREAM.options,
        _STREAM.group_id,
        _STREAM.declared,
        _STREAM.fuse_blown_at,
        _STREAM.fuse_reset,
    ).order_by(_STREAM.table_id),
    select(t.gates).order_by(t.gates.c.namespace, t.gates.c.name),
    select(t.watermarks).order_by(t.watermarks.c.namespace, t.watermarks.c.name),
    select(t.watermark_groups).order_by(t.watermark_groups.c.name),
    select(t.refresh_groups).order_by(t.refresh_groups.c.name),
)


@dataclass(frozen=True)
class Pulse:
    """Two that are equal: nothing that a person could see happened in between."""

    lsn: int
    newest_refresh: int
    """The number of the newest entry of the history; 0 if there is none."""
    state: int
    """Changes with what is known of stream tables, sources and groups; means nothing by itself."""


@dataclass(frozen=True)
class LeaseRecord:
    """Who may schedule: the term grows whenever that changes."""

    term: int
    expires_at: datetime


def read_pulse(connection: Connection) -> Pulse:
    """The lake's pulse now."""
    newest = connection.scalar(select(func.max(t.history.c.refresh_id)))
    seen = tuple(tuple(row) for look in _LOOKED_AT for row in connection.execute(look))
    return Pulse(ledger.read_current_lsn(connection), int(newest or 0), hash(seen))


def read_lease(connection: Connection, lease: str) -> LeaseRecord | None:
    """A lease as it stands, run out or not; None if nobody ever took it, or its holder gave it back."""
    row = connection.execute(select(t.leases).where(t.leases.c.name == lease)).one_or_none()
    return None if row is None or not row.holder else LeaseRecord(row.term, from_micros(row.expires_at))
