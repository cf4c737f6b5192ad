"""Lengths of time as people write them: `30s`, `5m`, `1h30m`, `7d`."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhdw])")
_WHOLE = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhdw]))+")
MAX_DURATION = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """The length of time that `text` says; a ValueError if it says none.

    >>> parse_duration("1h30m")
    datetime.timedelta(seconds=5400)
    """
    folded = text.strip().lower()
    if len(folded) > 40 or not _WHOLE.fullmatch(folded):
        raise ValueError(f"{text[:40]!r} is not a duration such as 30s, 5m, 1h30m or 7d")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(folded))
    if seconds > MAX_DURATION.total_seconds():
        raise ValueError(f"{text!r} is longer than {MAX_DURATION.days} days")
    return timedelta(seconds=seconds)


@lru_cache(maxsize=1024)
def format_duration(length: timedelta) -> str:
    """The shortest text that `parse_duration` reads back.

    >>> format_duration(timedelta(seconds=5400))
    '1h30m'
    """
    milliseconds = round(length.total_seconds() * 1000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
