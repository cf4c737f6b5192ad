"""Groups that people declare: their names and terms. Who is in one stands with the stream tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.timestamps import from_micros, to_micros

READ_COMMITTED, REPEATABLE_READ = "read_committed", "repeatable_read"


@dataclass(frozen=True)
class RefreshGroup:
    """A declared group's terms: at which lsn its members read, and for how long it may keep one pinned."""

    name: str
    isolation: str
    snapshot_timeout_ms: int
    created_at: datetime


def read_declared_groups(connection: Connection) -> dict[str, RefreshGroup]:
    """Every declared group, by name."""
    rows = connection.execute(select(t.refresh_groups).order_by(t.refresh_groups.c.name))
    return {
        row.name: RefreshGroup(row.name, row.isolation, row.snapshot_timeout_ms, from_micros(row.created_at))
        for row in rows
    }


def add_declared_group(connection: Connection, group: RefreshGroup, members: Iterable[str]) -> None:
    """Remember a group; `members` are the ids of its stream tables."""
    connection.execute(
        insert(t.refresh_groups).values(
            name=group.name,
            isolation=group.isolation,
            snapshot_timeout_ms=group.snapshot_timeout_ms,
            created_at=to_micros(group.created_at),
        )
    )
    connection.execute(
        update(t.stream_tables)
        .where(t.stream_tables.c.table_id.in_(list(members)))
        .values(declared=group.name)
    )


def remove_declared_group(connection: Connection, name: str) -> None:
    """Forget a group; its stream tables stay."""
    connection.execute(delete(t.refresh_groups).where(t.refresh_groups.c.name == name))
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.declared == name).values(declared=None)
    )
