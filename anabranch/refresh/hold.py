"""What keeps a stream table from being refreshed, in words that a person can act on."""

from __future__ import annotations

from datetime import UTC, datetime

from anabranch.ledger.streams import ERROR, SUSPENDED, StreamTable


def held_because(stream: StreamTable, now: datetime) -> str | None:
    """Why it can't be refreshed now, if it can't: what follows after its name."""
    if stream.status == SUSPENDED:
        return f"is suspended: {stream.status_reason or 'by hand'}"
    if stream.status == ERROR:
        return f"is in error: {stream.status_reason or stream.error or 'unknown'}"
    if stream.retry_at is not None and stream.retry_at > now:
        at = stream.retry_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"failed, and is tried again at {at}"
    return None
