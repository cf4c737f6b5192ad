"""Times, spans and counts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(moment: datetime | None) -> str | None:
    """A moment, in UTC, to the second.

    >>> format_time(datetime(2030, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    '2030-01-02 03:04:05'
    """
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def format_duration(seconds: float | None) -> str | None:
    """How long something takes or took: two units at most.

    >>> [format_duration(s) for s in (0.0312, 12.4, 125, 7300, 200_000)]
    ['31 ms', '12 s', '2m 05s', '2h 01m', '2d 07h']
    """
    if seconds is None:
        return None
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    for large, small, size, names in ((86400, 3600, 24, "dh"), (3600, 60, 60, "hm"), (60, 1, 60, "ms")):
        if whole >= large:
            return f"{whole // large}{names[0]} {whole // small % size:02}{names[1]}"
    raise AssertionError("unreachable")


def format_count(count: int, what: str) -> str:
    """A number of things.

    >>> format_count(1, "row"), format_count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "s")
