"""Facts about the catalog database itself: its schema and its clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from anabranch.ledger import tables as t


@dataclass(frozen=True)
class DatabaseInfo:
    """The schema and the clock of a catalog database."""

    step: int
    """The newest step of the schema that was applied."""
    time: datetime | None
    """The database server's own time; None where the database is a file."""


def read_database_info(connection: Connection) -> DatabaseInfo:
    """Read both from the database."""
    step = connection.scalar(select(func.max(t.migrations.c.number))) or 0
    if connection.dialect.name == "sqlite":
        return DatabaseInfo(step, None)
    time = connection.scalar(select(func.clock_timestamp()))
    return DatabaseInfo(step, None if time is None else time.astimezone(UTC))
