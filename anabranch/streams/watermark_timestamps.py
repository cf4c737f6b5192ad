"""The time up to which a source is loaded, as people write it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from anabranch.errors import InvalidWatermark

MAX_LENGTH = 40
HINT = "give a datetime, or ISO text such as 2030-01-31 or 2030-01-31T12:00:00+00:00."


def parse_timestamp(value: object, zone: str) -> datetime:
    """The timestamp, in UTC. Without a zone it is in the lake's, as in rows; a date is its midnight.

    >>> parse_timestamp("2030-01-31", "Europe/Vienna")
    datetime.datetime(2030, 1, 30, 23, 0, tzinfo=datetime.timezone.utc)
    """
    if isinstance(value, str):
        value = _parse_iso(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise InvalidWatermark(f"a {type(value).__name__} is not a timestamp", hint=HINT)
    try:
        return (value.replace(tzinfo=ZoneInfo(zone)) if value.tzinfo is None else value).astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidWatermark(f"{value.isoformat()} is out of range as a timestamp", hint=HINT) from None


def _parse_iso(text: str) -> datetime:
    try:
        if len(text) > MAX_LENGTH:
            raise ValueError
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidWatermark(f"{text[:MAX_LENGTH]!a} is not a timestamp", hint=HINT) from None
