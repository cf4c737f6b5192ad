"""Pins: what an lsn needs isn't expired while somebody still reads at it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.timestamps import to_micros


def store_pin(
    connection: Connection, *, pin: str, lsn: int, kind: str, holder: str, expires_at: datetime | None
) -> None:
    """Keep everything that a reader at `lsn` needs until `expires_at` (None: until unpinned)."""
    values = {
        "lsn": lsn,
        "kind": kind,
        "holder": holder,
        "expires_at": None if expires_at is None else to_micros(expires_at),
    }
    changed = connection.execute(update(t.pins).where(t.pins.c.pin == pin).values(**values))
    if changed.rowcount == 0:
        connection.execute(insert(t.pins).values(pin=pin, **values))


def remove_pin(connection: Connection, pin: str) -> None:
    """Remove a pin; nothing happens if it is gone already."""
    connection.execute(delete(t.pins).where(t.pins.c.pin == pin))


def read_lowest_pin(connection: Connection, now: datetime) -> int | None:
    """The oldest lsn that is pinned; pins that ran out are removed."""
    connection.execute(delete(t.pins).where(t.pins.c.expires_at < to_micros(now)))
    found = connection.scalar(select(func.min(t.pins.c.lsn)))
    return None if found is None else int(found)
