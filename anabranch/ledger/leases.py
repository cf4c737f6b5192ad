"""The right to do something alone for a while: taken, renewed, lost, given back."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.records import Fence
from anabranch.ledger.timestamps import to_micros


def take_lease(
    connection: Connection, *, lease: str, holder: str, now: datetime, until: datetime
) -> Fence | None:
    """Take or renew a lease; None while somebody else holds it.

    The term grows whenever the holder changes, so an old holder's commits can be told apart.
    """
    row = connection.execute(select(t.leases).where(t.leases.c.name == lease)).one_or_none()
    if row is None:
        connection.execute(
            insert(t.leases).values(name=lease, holder=holder, term=1, expires_at=to_micros(until))
        )
        return Fence(lease, 1)
    if row.holder != holder and row.expires_at > to_micros(now):
        return None
    term = row.term if row.holder == holder else row.term + 1
    connection.execute(
        update(t.leases)
        .where(t.leases.c.name == lease)
        .values(holder=holder, term=term, expires_at=to_micros(until))
    )
    return Fence(lease, term)


def is_fence_valid(connection: Connection, fence: Fence) -> bool:
    """Whether the lease is still in that term."""
    term = connection.scalar(select(t.leases.c.term).where(t.leases.c.name == fence.lease))
    return term == fence.term


def release_lease(connection: Connection, fence: Fence) -> None:
    """Let others take the lease at once."""
    connection.execute(
        update(t.leases)
        .where(t.leases.c.name == fence.lease, t.leases.c.term == fence.term)
        .values(expires_at=0, holder="")
    )
