"""Signs of life of the catalog database itself: its clock, its schema, who schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from anabranch.ledger import tables as t
from anabranch.ledger.moments import from_micros


@dataclass(frozen=True)
class Vitals:
    """What was found."""

    step: int
    """The newest step of the schema that was applied."""
    time: datetime | None
    """The database server's own time; None where the database is a file."""
    leads_until: datetime | None
    """Until when the scheduler's lease runs, or ran; None if nobody holds it."""
    term: int
    """How often the lease changed hands."""


def read_vitals(connection: Connection, lease: str) -> Vitals:
    """Look once."""
    step = connection.scalar(select(func.max(t.migrations.c.number))) or 0
    time = None
    if connection.dialect.name != "sqlite":
        time = connection.scalar(select(func.clock_timestamp()))
    row = connection.execute(select(t.leases).where(t.leases.c.name == lease)).one_or_none()
    until = from_micros(row.expires_at) if row is not None and row.holder else None
    return Vitals(step, None if time is None else time.astimezone(UTC), until, 0 if row is None else row.term)
