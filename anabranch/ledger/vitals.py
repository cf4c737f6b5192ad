"""Signs of life of the catalog database itself: its schema and its clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from anabranch.ledger import tables as t


@dataclass(frozen=True)
class Vitals:
    """What was found."""

    step: int
    """The newest step of the schema that was applied."""
    time: datetime | None
    """The database server's own time; None where the database is a file."""


def read_vitals(connection: Connection) -> Vitals:
    """Look once."""
    step = connection.scalar(select(func.max(t.migrations.c.number))) or 0
    if connection.dialect.name == "sqlite":
        return Vitals(step, None)
    time = connection.scalar(select(func.clock_timestamp()))
    return Vitals(step, None if time is None else time.astimezone(UTC))
